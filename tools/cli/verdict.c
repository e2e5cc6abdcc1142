/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a check found.
 */

#include <config.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/sum-line.h"
#include "cli/verdict.h"
#include "util/control.h"

/* Each becomes '?', as in messages. */
static void
hide_controls (char *text)
{
  char *to = text;
  size_t len;

  for (; *text; text += len ? len : 1) {
    len = control_length (text);
    *to++ = len ? '?' : *text;
  }
  *to = '\0';
}

/* A name is escaped as in lists, and like them the line begins with a backslash
 * then: whatever is in it, it makes no other line, and the terminal does
 * nothing but print it.
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
  hide_controls (escaped);
  errno = 0;
  if (printf ("%s%s: %s\n", prefix, escaped, verdict) < 0 ||
      fflush (stdout) == EOF || ferror (stdout))
    err = errno ? errno : EIO;
  free (escaped);
  return err;
}

static void
warn (uint64_t count, const char *one, const char *many)
{
  if (count > 0)
    fprintf (stderr, "blksum: WARNING: %ju %s\n", (uintmax_t) count,
             count == 1 ? one : many);
}

void
verdicts_warn (const struct verdicts *verdicts)
{
  warn (verdicts->malformed, "line is improperly formatted",
        "lines are improperly formatted");
  warn (verdicts->unread, "listed file could not be read",
        "listed files could not be read");
  warn (verdicts->incomplete, "listed file has no checksum",
        "listed files have no checksum");
  warn (verdicts->mismatched, "computed checksum did NOT match",
        "computed checksums did NOT match");
}
