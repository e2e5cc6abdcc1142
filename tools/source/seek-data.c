/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Find the first data at or after an offset of a source.
 *
 * A source reads what FILL lacks, and a search lacks nothing after its first
 * data: see read/scan.h.
 */

#include <config.h>

#include <assert.h>

#include "read/scan.h"
#include "source/seek-data.h"
#include "source/source.h"
#include "util/error.h"

/* Read up to the full size, beyond that of --size. */
static int
fill_whole (struct source *source, struct fill *fill)
{
  uint64_t size = source->size;
  int r;

  source->size = source->full_size;
  r = source_fill (source, fill);
  source->size = size;
  return r;
}

int
source_seek_data (struct source *source, struct fill *fill, uint64_t *offset,
                  struct error *error)
{
  int r;

  assert (source->full_size != SOURCE_SIZE_UNKNOWN);
  if (fill->from >= source->full_size)
    return 0;
  r = fill_whole (source, fill);
  if (r == -1)
    *error = fill->error;
  else
    r = source_check_unchanged (source, error);
  if (r == 0 && fill->to < source->full_size) {
    *offset = fill->to;
    r = 1;
  }
  return r;
}
