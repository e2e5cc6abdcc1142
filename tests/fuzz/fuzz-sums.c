/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: a list of checksums.  A line that was read is written and read
 * again, with the same result.
 */

#include <config.h>

#include <ctype.h>
#include <string.h>

#include "../lib/common/hash-spec.h"
#include "../lib/common/sum-line.h"
#include "blkhash.h"
#include "fuzz.h"
#include "../lib/common/sums-line.h"
#include "sums/list.h"

static void
check_sum (const struct sums_line *line)
{
  char *escaped = sum_line_escape (line->name), *text;
  struct sums_line again;
  struct hash_spec spec;
  int len;

  if (*line->name == '\0' || *line->hex == '\0')
    abort ();
  for (const char *p = line->hex; *p; p++)
    if (!isxdigit ((unsigned char) *p))
      abort ();
  len = line->spec
    ? asprintf (&text, "\\blk-%s (%s) = %s", line->spec, escaped, line->hex)
    : asprintf (&text, "\\%s  %s", line->hex, escaped);
  sums_line_parse (text, len, &again);
  if (again.type != SUMS_SUM || strcmp (again.name, line->name) != 0 ||
      strcmp (again.hex, line->hex) != 0 || !again.spec != !line->spec ||
      (line->spec && strcmp (again.spec, line->spec) != 0))
    abort ();
  if (line->spec && hash_spec_parse (line->spec, &spec) == 0) {
    struct blkhash_opts *defaults = blkhash_opts_new ("sha256");

    blkhash_opts_free (hash_spec_opts (&spec, defaults));
    blkhash_opts_free (defaults);
  }
  free (text);
  free (escaped);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  int fd = memfd_create ("fuzz", MFD_CLOEXEC), r;
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
  while ((r = sums_list_next (list, &line, &error)) == 1) {
    if (line.type == SUMS_SUM)
      check_sum (&line);
    else if (line.type == SUMS_UNKNOWN || line.type == SUMS_DIFFERS
             ? !line.name || !line.why
             : !line.why != (line.type != SUMS_DAMAGED))
      abort ();
  }
  if ((r == -1) != error_is_set (&error))
    abort ();
  sums_list_close (list);
  close (fd);
  return 0;
}
