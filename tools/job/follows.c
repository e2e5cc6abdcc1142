/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What follows an image on its disk, with --size.
 */

#include <config.h>

#include <stdint.h>
#include <stdio.h>

#include "cli/report.h"
#include "cli/verdict.h"
#include "job/follows.h"
#include "source/find-data.h"
#include "source/source.h"
#include "util/error.h"

static void
print (const char *name, const char *verdict)
{
  int err = verdict_print (name, verdict);

  if (err)
    report_write_failed (err);
}

int
follows_print (struct source *source, const char *name)
{
  struct error error = { "" };
  char verdict[128];
  uint64_t offset;
  int r;

  if (source->full_size == source->size)
    return 0;
  if (source->full_size == SOURCE_SIZE_UNKNOWN) {
    print (name, "what follows was not read");
    return 0;
  }
  r = source_find_data (source, source->size, &offset, &error);
  if (r == -1) {
    report (name, &error);
    return -1;
  }
  if (r == 0)
    snprintf (verdict, sizeof verdict, "what follows is zero, %ju bytes",
              (uintmax_t) (source->full_size - source->size));
  else
    snprintf (verdict, sizeof verdict,
              "what follows is not zero, from offset %ju on",
              (uintmax_t) offset);
  print (name, verdict);
  return 0;
}
