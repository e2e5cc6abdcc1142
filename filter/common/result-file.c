/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file.  See result-file.h.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/common/sums.h"
#include "../lib/common/text.h"
#include "blkhash.h"
#include "common/result-file.h"

/* Longer than any line that this filter writes.  The export name of a client
 * has up to 4096 bytes, blkhash-name on the command line up to 128 KiB, and
 * escaping can double the length.
 */
#define MAX_LINE (300 * 1024)

#define DIGITS "0123456789abcdef"

struct result_form result_form;

static bool
begins_with (const char *text, const char *start)
{
  return strncmp (text, start, strlen (start)) == 0;
}

/* ---- A line ---- */

/* Returns the name in LINE, and sets *LEN to the length of the name.  LINE must
 * be "HEX  NAME" or "TAG (NAME) = HEX", and HEX must have the number of digits
 * in the parameter DIGITS; otherwise returns NULL.
 */
static const char *
find_name (const char *line, const char *tag, size_t digits, size_t *len)
{
  const char *end;

  line += *line == '\\';
  end = line + strlen (line);
  if (strspn (line, DIGITS) == digits && begins_with (line + digits, "  ")) {
    line += digits + 2;
    *len = end - line;
    return line;
  }
  if (!begins_with (line, tag) || !begins_with (line + strlen (tag), " ("))
    return NULL;
  line += strlen (tag) + 2;
  if ((size_t) (end - line) < 4 + digits ||
      !begins_with (end - digits - 4, ") = ") ||
      strspn (end - digits, DIGITS) != digits)
    return NULL;
  *len = end - digits - 4 - line;
  return line;
}

/* Returns true if NAME, of LEN bytes, is WANTED in escaped form. */
static bool
is_name (const char *name, size_t len, const char *wanted)
{
  char *escaped = sum_line_escape (wanted);
  bool is = escaped && strlen (escaped) == len &&
    memcmp (escaped, name, len) == 0;

  free (escaped);
  return is;
}

/* The same as find_name for a sum of any hash, in the form "TAG (NAME) = HEX".
 */
static const char *
find_tagged_name (const char *line, size_t *len)
{
  const char *start = line + (*line == '\\');
  char *tag = strndup (start, strcspn (start, " "));
  struct blkhash_opts *hash = tag ? blkhash_opts_from_tag (tag) : NULL;
  const char *name = hash
    ? find_name (line, tag, 2 * blkhash_opts_get_digest_size (hash), len)
    : NULL;

  blkhash_opts_free (hash);
  free (tag);
  return name;
}

/* Returns true if LINE is a sum with the parameters result_form.hash or, if
 * that is NULL or ANY is set, with any tag; and, unless ANY is set, with the
 * name of the default export.
 */
static bool
is_sum (const char *line, bool any)
{
  char tag[BLKHASH_MAX_TAG_SIZE];
  const char *name = NULL;
  size_t len;

  if (result_form.hash &&
      blkhash_opts_get_tag (result_form.hash, tag, sizeof tag) == 0)
    name = find_name (line, tag,
                      2 * blkhash_opts_get_digest_size (result_form.hash),
                      &len);
  if (!name && (any || !result_form.hash))
    name = find_tagged_name (line, &len);
  return name &&
    (any || is_name (name, len, "-") ||
     (result_form.name && is_name (name, len, result_form.name)));
}

/* Is LINE "WORD NAME: WHY", or "DIFFERS NAME: N bytes" of a filter that writes
 * such lines?
 */
static bool
is_without_sum (const char *line, const char *word, const char *differs)
{
  return (begins_with (line, word) ||
          (result_form.differs && begins_with (line, differs))) &&
    strstr (line, ": ");
}

/* Old filters wrote these words, and a header only before several lines. */
static bool
is_old (const char *line)
{
  return is_without_sum (line, "# incomplete ", "# bad ");
}

/* ---- A file ---- */

static bool
is_ours_after_header (FILE *in, char *line)
{
  enum line_end end;
  size_t len;

  while ((end = line_read (in, line, MAX_LINE, &len)) == LINE_NEWLINE)
    if (!(is_sum (line, true) || is_old (line) ||
          is_without_sum (line, "# unknown ", "# differs ")))
      return false;
  return end == LINE_FILE_END && len == 0 && feof (in);
}

static bool
is_one_line (FILE *in, char *line)
{
  return (is_old (line) || is_sum (line, false)) &&
    getc_unlocked (in) == EOF && feof (in);
}

static bool
is_ours_from_start (FILE *in, char *line)
{
  size_t len;

  if (line_read (in, line, MAX_LINE, &len) != LINE_NEWLINE)
    return false;
  if (begins_with (result_form.header, line) &&
      strlen (line) + 1 == strlen (result_form.header))
    return is_ours_after_header (in, line);
  return is_one_line (in, line);
}

enum file_origin
result_file_examine (int fd, char *why)
{
  int copy = dup (fd);
  FILE *in = copy == -1 ? NULL : fdopen (copy, "r");
  char *line = in ? malloc (MAX_LINE) : NULL;
  enum file_origin origin = FILE_UNEXAMINED;
  int err;

  (void) why;
  if (line) {
    errno = 0;
    if (is_ours_from_start (in, line))
      origin = FILE_OURS;
    /* Without memory, a line that is ours may not have been recognized. */
    else if (!ferror (in) && errno != ENOMEM)
      origin = FILE_FOREIGN;
  }
  err = errno;
  free (line);
  if (in)
    fclose (in);
  else if (copy != -1)
    close (copy);
  errno = err;
  return origin;
}

/* ---- The result file ---- */

#define TOO_LONG "# unknown *: the lines of all exports exceed 1 MiB\n"

static struct output_file file = {
  .examine = result_file_examine, .what = "a result of this command"
};

int
result_file_open (const char *param, const char *path, bool create)
{
  file.param = param;
  return path ? output_file_open (&file, path, create) : 0;
}

int
result_file_check (void)
{
  return output_file_check (&file);
}

int
result_file_start (void)
{
  return output_file_empty (&file);
}

void
result_file_stop (void)
{
  output_file_stop (&file);
}

void
result_file_write (const char *lines)
{
  char *text = NULL;

  if (lines && strlen (lines) > RESULT_MAX)
    lines = TOO_LONG;
  if (lines && asprintf (&text, "%s%s", *lines ? result_form.header : "",
                         lines) == -1)
    text = NULL;
  output_file_write (&file, text);
  free (text);
}
