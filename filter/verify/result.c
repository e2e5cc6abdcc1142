/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file: a line for each export.
 *
 * The line has the sum only if each block was good when it was last read, or
 * the plugin's extents say that it is zero, as in the manifest.  A block that
 * was repaired in flight is still bad, or unreadable, on the disk, so there is
 * no sum.
 */

#include <config.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/sum-line.h"
#include "result-file.h"
#include "verify/export.h"
#include "verify/result.h"
#include "verify/summary.h"

/* Store in WHY, for a disk without bad blocks, why there is no sum. */
static void
print_missing (const struct summary *s, char *why, size_t size)
{
  const struct {
    uint64_t bytes;
    const char *what;
  } missing[] = {
    { s->unreadable + s->unreadable_in_flight, "bytes cannot be read" },
    { s->not_read, "bytes were not read" },
    { s->zero, "bytes of zeros were not read" },
  };
  size_t len = 0, i;

  *why = '\0';
  for (i = 0; i < sizeof missing / sizeof missing[0]; i++)
    if (missing[i].bytes > 0)
      len += snprintf (why + len, size - len, "%s%" PRIu64 " %s",
                       len > 0 ? ", " : "", missing[i].bytes,
                       missing[i].what);
}

/* Print why there is no sum.  Returns false if there is no memory, as the
 * functions below.
 */
static bool
print_failure (FILE *out, const struct export *export, const struct summary *s)
{
  char *name = sum_line_escape (export->name), why[160];
  int r = -1;

  print_missing (s, why, sizeof why);
  if (name && s->bad + s->in_flight > 0)
    r = fprintf (out, "# bad %s: %" PRIu64 " bytes\n", name,
                 s->bad + s->in_flight);
  else if (name)
    r = fprintf (out, "# incomplete %s: %s\n", name, why);
  free (name);
  return r >= 0;
}

static bool
print_line_locked (FILE *out, struct export *export)
{
  struct summary summary;

  summary_get_locked (export, &summary);
  return summary.good ? fputs (export->line, out) != EOF
                      : print_failure (out, export, &summary);
}

static bool
print_lines (FILE *out)
{
  struct export *export;
  SCOPED_LOCK (&exports_lock);

  for (export = exports_first_locked (); export; export = export->next)
    if (!print_line_locked (out, export))
      return false;
  return true;
}

void
result_write (void)
{
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream (&text, &len);
  bool ok = out && print_lines (out);

  if (out && fclose (out) == EOF)
    ok = false;
  result_file_write (ok ? text : NULL);
  free (text);
}
