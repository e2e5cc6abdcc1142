/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/sum-line.h"
#include "cli/verdict.h"
#include "util/control.h"

/* Replace each control character with '?', as in messages. */
static void
replace_controls (char *text)
{
  char *to = text;
  size_t len;

  for (; *text; text += len ? len : 1) {
    len = control_length (text);
    *to++ = len ? '?' : *text;
  }
  *to = '\0';
}

/* The name is escaped as in a list: if it contains a newline, a carriage return
 * or a backslash, the line begins with a backslash.  Other control characters
 * are replaced with '?'.  So an untrusted name cannot forge another line, and
 * no control character reaches the terminal.
 */
int
verdict_print (const char *name, const char *verdict)
{
  char *escaped = sum_line_escape (name);
  const char *prefix;
  int err = 0;

  if (!escaped)
    return ENOMEM;
  prefix = strcmp (escaped, name) == 0 ? "" : "\\";
  replace_controls (escaped);
  errno = 0;
  if (printf ("%s%s: %s\n", prefix, escaped, verdict) < 0 ||
      fflush (stdout) == EOF || ferror (stdout))
    err = errno ? errno : EIO;
  free (escaped);
  return err;
}

int
verdict_print_trailing (const char *name, uint64_t len)
{
  char text[64] = "any bytes after the image were not read";

  if (len == 0)
    return 0;
  if (len != UINT64_MAX)
    snprintf (text, sizeof text,
              "%" PRIu64 " bytes after the image were not read", len);
  return verdict_print (name, text);
}
