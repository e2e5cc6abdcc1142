/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: a list of checksums.  A line that was read is written and read
 * again, with the same result.  The same bytes are also read as a text with one
 * sum.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "../../lib/common/sums.h"
#include "blkhash.h"
#include "fuzz.h"
#include "job/check.h"

/* ERR is the result of reading EXPECTED. */
static void
check_expected (int err, struct expected_sum *expected, const char *reason)
{
  if (err == 0)
    expected_sum_destroy (expected);
  else if (err != EINVAL || expected->opts || *reason == '\0')
    abort ();
}

/* ERR is the result of reading TEXT as an expected sum.  A sum without a tag
 * can have any length; others have that of their digest in both.
 */
static void
check_parsed (const char *text, int err)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_opts *opts;
  char *name;
  unsigned len;
  int got = blkhash_sum_parse (text, &opts, md, &len, &name, NULL, 0);

  if ((got != 0 && (got != EINVAL || opts || name)) || (err == 0 && got != 0) ||
      (got == 0 && opts &&
       (err != 0 || len != blkhash_opts_get_digest_size (opts))))
    abort ();
  blkhash_opts_free (opts);
  free (name);
}

static void
check_text (const uint8_t *data, size_t size)
{
  char *text = strndup ((const char *) data, size), *copy = strdup (text);
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  struct expected_sum expected;
  struct sums_line sum;
  int err;

  err = expected_sum_parse (&expected, text, NULL, reason);
  check_expected (err, &expected, reason);
  sums_line_parse_text (copy, &sum);
  if (sum.type == SUMS_SUM || sum.type == SUMS_CONTENT
      ? *sum.hex == '\0' || sum.why : sum.type != SUMS_DAMAGED || !sum.why)
    abort ();
  if (sum.foreign && (!sum.spec || !sum.hex))
    abort ();
  check_parsed (text, err);
  free (copy);
  free (text);
}

static void
check_sum (const struct sums_line *line)
{
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  struct expected_sum expected;
  char *escaped = sum_line_escape (line->name), *text;
  struct sums_line again;
  int len;

  if (*line->name == '\0' || *line->hex == '\0')
    abort ();
  for (const char *p = line->hex; *p; p++)
    if (!isxdigit ((unsigned char) *p))
      abort ();
  len = line->type == SUMS_CONTENT
    ? asprintf (&text, "\\content-%s (%s) = %s", line->spec, escaped, line->hex)
    : line->spec
    ? asprintf (&text, "\\blk-%s (%s) = %s", line->spec, escaped, line->hex)
    : asprintf (&text, "\\%s  %s", line->hex, escaped);
  sums_line_parse (text, len, &again);
  if (again.type != line->type || strcmp (again.name, line->name) != 0 ||
      strcmp (again.hex, line->hex) != 0 || !again.spec != !line->spec ||
      (line->spec && strcmp (again.spec, line->spec) != 0))
    abort ();
  check_expected (expected_sum_init (&expected, line, NULL, reason), &expected,
                  reason);
  free (text);
  free (escaped);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  int fd = memfd_create ("fuzz", MFD_CLOEXEC);
  enum answer more;
  struct error error = { "" };
  struct sums_list *list;
  struct sums_line line;
  char path[32];

  if (fd == -1 || write (fd, data, size) != (ssize_t) size) {
    perror ("memfd");
    exit (1);
  }
  snprintf (path, sizeof path, "/dev/fd/%d", fd);
  list = sums_list_open (path, &error);
  if (!list) {
    fprintf (stderr, "%s\n", error.text);
    exit (1);
  }
  while ((more = sums_list_next (list, &line, &error)) == ANSWER_YES) {
    if (line.type == SUMS_SUM || line.type == SUMS_CONTENT)
      check_sum (&line);
    else if (line.type == SUMS_UNKNOWN || line.type == SUMS_DIFFERS
             ? !line.name || !line.why
             : !line.why != (line.type != SUMS_DAMAGED))
      abort ();
  }
  if ((more == ANSWER_FAILED) != error_is_set (&error))
    abort ();
  sums_list_close (list);
  close (fd);
  check_text (data, size);
  return 0;
}
