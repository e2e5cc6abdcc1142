/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "cli/program.h"
#include "util/broken-pipe.h"
#include "util/error.h"

/* NAME is printed in one line: error_set replaces its newlines. */
void
report (const char *name, const struct error *error)
{
  const char *text = error->text;
  struct error prefix = { "" };

  error_set (&prefix, "%s", name);
  for (;;) {
    int len = strcspn (text, "\n");

    fprintf (stderr, "%s: %s: %.*s\n", program_name, prefix.text, len, text);
    if (text[len] == '\0')
      return;
    text += len + 1;
  }
}

void
report_write_failed (int err)
{
  if (err == EPIPE)
    die_of_broken_pipe ();
  fprintf (stderr, "%s: write error: %s\n", program_name,
           strerror (err));
  exit (EXIT_TROUBLE);
}
