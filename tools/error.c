/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The reason why a source failed, as one line of text for the user.
 */

#include <config.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

/* Append TEXT as a part of one printable line: what qemu, libnbd and untrusted
 * images say may hold anything.  Line ends become "; ", other control
 * characters '?'; bytes above 127 stay, names are in the user's charset.
 */
static void
append_one_line (struct error *error, const char *text)
{
  size_t n = strlen (error->text);

  for (; *text && n < sizeof error->text - 3; text++) {
    unsigned char c = *text;

    if (c == '\n') {
      if (text[1] == '\0' || text[1] == '\n')
        continue;
      error->text[n++] = ';';
      c = ' ';
    }
    error->text[n++] = c < ' ' || c == 127 ? '?' : c;
  }
  error->text[n] = '\0';
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

int
error_errno (struct error *error, int errnum, const char *fmt, ...)
{
  va_list args;

  if (error_is_set (error))
    return -1;
  va_start (args, fmt);
  append_format (error, fmt, args);
  va_end (args);
  append_one_line (error, ": ");
  append_one_line (error, strerror (errnum));
  return -1;
}
