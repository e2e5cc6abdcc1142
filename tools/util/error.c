/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "util/error.h"

static const char more[] = "\n(the rest is not shown)";

/* Append TEXT up to END in printable form, because text from qemu, libnbd and
 * untrusted images can contain any byte.  Newlines between lines are replaced
 * with "; "; empty lines, and newlines at the end, are dropped.  Other control
 * characters, including C1 control characters in UTF-8, are replaced with '?'.
 * Other bytes above 127 are kept, because names are in the user's charset.
 * The last SPARE bytes of the error are left free.  Returns false if TEXT did
 * not fit before these bytes, and was cut.
 */
static bool
append (struct error *error, const char *text, const char *end, size_t spare)
{
  size_t n = strlen (error->text), max = sizeof error->text - 3 - spare;

  for (; text < end && n < max; text++) {
    size_t control = control_length (text);

    if (*text == '\n') {
      if (text + 1 == end || text[1] == '\n')
        continue;
      error->text[n++] = ';';
      error->text[n++] = ' ';
      continue;
    }
    error->text[n++] = control ? '?' : *text;
    if (control)
      text += control - 1;
  }
  error->text[n] = '\0';
  return text == end;
}

static void
append_one_line (struct error *error, const char *text)
{
  append (error, text, text + strlen (text), 0);
}

static void
append_format (struct error *error, const char *fmt, va_list args)
{
  char text[sizeof error->text];

  vsnprintf (text, sizeof text, fmt, args);
  append_one_line (error, text);
}

int
error_set (struct error *error, const char *fmt, ...)
{
  va_list args;

  if (error_is_set (error))
    return -1;
  va_start (args, fmt);
  append_format (error, fmt, args);
  va_end (args);
  return -1;
}

void
error_copy (struct error *error, const struct error *other)
{
  if (!error_is_set (error))
    strcpy (error->text, other->text);
}

int
error_size (struct error *error, uint64_t size, const char *other,
            uint64_t other_size)
{
  if (size < other_size)
    return error_set (error, "has %" PRIu64 " bytes, %s %" PRIu64, size, other,
                      other_size);
  return error_set (error, "has %" PRIu64 " bytes, %s %" PRIu64 "; --size %"
                    PRIu64 " reads only these", size, other, other_size,
                    other_size);
}

int
error_about (struct error *error, const char *name, const char *fmt, ...)
{
  va_list args;

  if (error_is_set (error))
    return -1;
  if (name) {
    append_one_line (error, "'");
    append_one_line (error, name);
    append_one_line (error, "': ");
  }
  va_start (args, fmt);
  append_format (error, fmt, args);
  va_end (args);
  return -1;
}

int
error_set_lines (struct error *error, const char *text)
{
  size_t lines = 0;
  bool fits = true;

  if (error_is_set (error))
    return -1;
  for (; *text && fits; lines++) {
    const char *end = text + strcspn (text, "\n");

    fits = lines < ERROR_LINES;
    if (fits) {
      if (lines > 0)
        strcat (error->text, "\n");
      fits = append (error, text, end, sizeof more);
    }
    text = *end ? end + 1 : end;
  }
  if (!fits)
    strcat (error->text, more);
  return -1;
}

/* For EMFILE append the limit of open files too, because the user can raise it.
 */
static void
append_errno (struct error *error, int errnum)
{
  struct rlimit limit;
  char text[64];

  append_one_line (error, ": ");
  append_one_line (error, strerror (errnum));
  if (errnum != EMFILE || getrlimit (RLIMIT_NOFILE, &limit) == -1)
    return;
  snprintf (text, sizeof text, " (ulimit -n: %ju)",
            (uintmax_t) limit.rlim_cur);
  append_one_line (error, text);
}

int
error_errno (struct error *error, int errnum, const char *fmt, ...)
{
  va_list args;

  if (error_is_set (error))
    return -1;
  va_start (args, fmt);
  append_format (error, fmt, args);
  va_end (args);
  append_errno (error, errnum);
  return -1;
}

void
die_of_broken_pipe (void)
{
  signal (SIGPIPE, SIG_DFL);
  raise (SIGPIPE);
}
