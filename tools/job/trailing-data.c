/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * With --size: search for data after the image on its disk.
 */

#include <config.h>

#include "job/trailing-data.h"
#include "read/scan.h"
#include "source/seek-data.h"
#include "source/source.h"
#include "util/progress.h"
#include "util/result.h"

/* Returns 1 with OFFSET set, 0 if there is no data, or -1. */
static int
search (const struct progress_form *form, struct source *source,
        uint64_t *offset, struct error *error)
{
  struct scan scan;
  int r;

  scan_init_search (&scan, source->size);
  scan.request.progress =
    progress_begin_aside (form, source->full_size - source->size);
  r = source_seek_data (source, &scan, offset, error);
  progress_end (scan.request.progress, r != -1);
  scan_destroy (&scan);
  return r;
}

int
trailing_data_find (const struct progress_form *form, struct source *source,
                    struct trailing_data *trailing, struct error *error)
{
  int r;

  *trailing = (struct trailing_data) { .state = TRAILING_NONE };
  if (source->full_size == source->size)
    return 0;
  if (source->full_size == SOURCE_SIZE_UNKNOWN) {
    trailing->state = TRAILING_UNREAD;
    return 0;
  }
  trailing->len = source->full_size - source->size;
  r = search (form, source, &trailing->offset, error);
  if (r == -1)
    return -1;
  trailing->state = r == 1 ? TRAILING_DATA : TRAILING_ZERO;
  return 0;
}
