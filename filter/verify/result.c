/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file: a line for each export.
 *
 * The line has the sum only if each block was good when it was last read, or
 * the plugin's extents say that it is zero, as in the manifest.  A block that
 * was repaired still differs, or is unreadable, on the disk, so there is no
 * sum.
 */

#include <config.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/sums.h"
#include "../lib/common/util.h"
#include "result-file.h"
#include "verify/export.h"
#include "verify/result.h"
#include "verify/summary.h"

/* Store in WHY, for a disk in which no block differs, why there is no sum. */
static void
print_why (const struct summary *s, char *why, size_t size)
{
  const struct {
    uint64_t bytes;
    const char *what;
  } reasons[] = {
    { s->unreadable + s->unreadable_repaired, "bytes cannot be read" },
    { s->missing, "bytes are missing" },
    { s->missing_zero, "bytes of zeros are missing" },
  };
  size_t len = 0, i;

  *why = '\0';
  for (i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
    if (reasons[i].bytes > 0)
      len += snprintf (why + len, size - len, "%s%" PRIu64 " %s",
                       len > 0 ? ", " : "", reasons[i].bytes,
                       reasons[i].what);
}

/* Print why there is no sum.  Returns false if there is no memory, as the
 * functions below.
 */
static bool
print_failure (FILE *out, const struct export *export, const struct summary *s)
{
  char *name = sum_line_escape (export->name), why[160];
  int r = -1;

  print_why (s, why, sizeof why);
  if (name && s->differs + s->repaired > 0)
    r = fprintf (out, "# differs %s: %" PRIu64 " bytes\n", name,
                 s->differs + s->repaired);
  else if (name)
    r = fprintf (out, "# unknown %s: %s\n", name, why);
  free (name);
  return r >= 0;
}

static bool
print_line_locked (FILE *out, struct export *export)
{
  struct summary summary;

  summary_get_locked (export, &summary);
  return summary.ok ? fputs (export->line, out) != EOF
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
