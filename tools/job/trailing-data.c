/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * With --size: search for data after the image on its disk.
 *
 * The source executes a search, a scan that ends at the first data: see
 * read/scan.h.  Zero extents are not read.
 */

#include <config.h>

#include "job/trailing-data.h"
#include "read/scan.h"
#include "source/source.h"
#include "util/progress.h"
#include "util/result.h"

/* Execute SCAN as if the image were the whole disk, and did not end at --size.
 */
static int
scan_full_size (struct source *source, struct scan *scan, struct error *error)
{
  uint64_t size = source->size;
  int r;

  source->size = source->full_size;
  r = source_scan (source, scan);
  source->size = size;
  if (r == 0)
    return source_check_unchanged (source, error);
  *error = scan->error;
  return -1;
}

static int
search (const struct progress *progress, struct source *source,
        struct trailing_data *trailing, struct error *error)
{
  struct scan scan;
  int r;

  scan_init_search (&scan, source->size);
  scan.request.progress = progress_begin_aside (progress, trailing->len);
  r = scan_full_size (source, &scan, error);
  progress_end (scan.request.progress, r == 0);
  if (r == 0) {
    trailing->state = scan.to < source->full_size ? TRAILING_DATA
                                                  : TRAILING_ZERO;
    trailing->offset = scan.to;
  }
  scan_destroy (&scan);
  return r;
}

int
trailing_data_find (const struct progress *progress, struct source *source,
                    struct trailing_data *trailing, struct error *error)
{
  *trailing = (struct trailing_data) { .state = TRAILING_NONE };
  if (source->full_size == source->size)
    return 0;
  if (source->full_size == SOURCE_SIZE_UNKNOWN) {
    trailing->state = TRAILING_UNREAD;
    return 0;
  }
  trailing->len = source->full_size - source->size;
  return search (progress, source, trailing, error);
}
