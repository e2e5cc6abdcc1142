/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Find the first data at or after an offset of a source.
 *
 * A source reads only missing ranges of SCAN, and in a search nothing is
 * missing after the first data: see read/scan.h.
 */

#include <config.h>

#include <assert.h>

#include "read/scan.h"
#include "source/seek-data.h"
#include "source/source.h"
#include "util/error.h"

/* Read up to the full size, beyond that of --size. */
static int
scan_full_size (struct source *source, struct scan *scan)
{
  uint64_t size = source->size;
  int r;

  source->size = source->full_size;
  r = source_scan (source, scan);
  source->size = size;
  return r;
}

int
source_seek_data (struct source *source, struct scan *scan, uint64_t *offset,
                  struct error *error)
{
  int r;

  assert (source->full_size != SOURCE_SIZE_UNKNOWN);
  if (scan->from >= source->full_size)
    return 0;
  r = scan_full_size (source, scan);
  if (r == -1)
    *error = scan->error;
  else
    r = source_check_unchanged (source, error);
  if (r == 0 && scan->to < source->full_size) {
    *offset = scan->to;
    r = 1;
  }
  return r;
}
