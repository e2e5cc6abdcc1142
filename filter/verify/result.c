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

/* Returns NULL if there is no memory. */
static char *
make_failure (const struct export *export, const struct summary *s)
{
  char *name = sum_line_escape (export->name), *line = NULL, why[160];
  int r = -1;

  print_missing (s, why, sizeof why);
  if (name && s->bad + s->in_flight > 0)
    r = asprintf (&line, "# bad %s: %" PRIu64 " bytes\n", name,
                  s->bad + s->in_flight);
  else if (name)
    r = asprintf (&line, "# incomplete %s: %s\n", name, why);
  free (name);
  return r == -1 ? NULL : line;
}

/* Sets *WITHDRAWN if the export had a sum and has none now.  Returns NULL if
 * there is no memory.
 */
static char *
make_line_locked (struct export *export, bool *withdrawn)
{
  struct summary summary;
  bool had_sum = export->has_sum;

  summary_get_locked (export, &summary);
  export->has_sum = summary.good;
  *withdrawn |= had_sum && !export->has_sum;
  return summary.good ? strdup (export->line)
                      : make_failure (export, &summary);
}

struct lines {
  struct result_change *changes;
  struct result_place *places;
  size_t count;
  bool withdrawn;
};

static bool
add_lines_locked (struct lines *lines)
{
  struct export *export;

  for (export = exports_first_locked (); export; export = export->next) {
    struct result_change *change = &lines->changes[lines->count];

    change->place = &lines->places[lines->count];
    change->text = make_line_locked (export, &lines->withdrawn);
    if (!change->text)
      return false;
    lines->count++;
  }
  return true;
}

/* If there are no exports, there are no lines.  Returns false only if there is
 * no memory.
 */
static bool
make_lines (struct lines *lines)
{
  const struct export *export;
  size_t room = 1;
  SCOPED_LOCK (&exports_lock);

  for (export = exports_first_locked (); export; export = export->next)
    room++;
  lines->changes = calloc (room, sizeof lines->changes[0]);
  lines->places = calloc (room, sizeof lines->places[0]);
  return lines->changes && lines->places && add_lines_locked (lines);
}

void
result_write (void)
{
  struct lines lines = { .count = 0 };
  bool ok = make_lines (&lines);
  size_t i;

  result_file_replace (ok ? lines.changes : NULL, lines.count,
                       lines.withdrawn);
  for (i = 0; i < lines.count; i++)
    free (lines.changes[i].text);
  free (lines.changes);
  free (lines.places);
}
