/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What follows an image on its disk, with --size.
 */

#include <config.h>

#include "cli/follows.h"
#include "job/follows.h"
#include "source/find-data.h"
#include "source/source.h"

int
follows_find (struct source *source, struct follows *follows,
              struct error *error)
{
  int r;

  *follows = (struct follows) { FOLLOWS_NOTHING };
  if (source->full_size == source->size)
    return 0;
  if (source->full_size == SOURCE_SIZE_UNKNOWN) {
    follows->what = FOLLOWS_UNREAD;
    return 0;
  }
  follows->len = source->full_size - source->size;
  r = source_find_data (source, source->size, &follows->offset, error);
  follows->what = r == 1 ? FOLLOWS_DATA : FOLLOWS_ZERO;
  return r == -1 ? -1 : 0;
}
