/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Trailing data after an image on its disk, with --size.
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
  struct fill fill;
  int r;

  fill_init_search (&fill, source->size);
  fill.progress = progress_begin_aside (form,
                                        source->full_size - source->size);
  r = source_seek_data (source, &fill, offset, error);
  progress_end (fill.progress, r != -1);
  fill_destroy (&fill);
  return r;
}

int
follows_find (const struct progress_form *form, struct source *source,
              struct follows *follows, struct error *error)
{
  int r;

  *follows = (struct follows) { .what = FOLLOWS_NOTHING };
  if (source->full_size == source->size)
    return 0;
  if (source->full_size == SOURCE_SIZE_UNKNOWN) {
    follows->what = FOLLOWS_UNREAD;
    return 0;
  }
  follows->len = source->full_size - source->size;
  r = search (form, source, &follows->offset, error);
  follows->what = r == 1 ? FOLLOWS_DATA : FOLLOWS_ZERO;
  return r == -1 ? -1 : 0;
}
