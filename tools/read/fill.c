/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The order to fill a leaf table.
 */

#include <config.h>

#include <errno.h>

#include "blkhash.h"

#include "../lib/cleanup.h"
#include "read/fill.h"

void
fill_init (struct fill *fill, struct blkhash_leaves *leaves,
           size_t block_size)
{
  *fill = (struct fill) {
    .leaves = leaves, .block_size = block_size, .to = UINT64_MAX
  };
  pthread_mutex_init (&fill->lock, NULL);
}

void
fill_destroy (struct fill *fill)
{
  pthread_mutex_destroy (&fill->lock);
}

void
fill_advance (struct fill *fill, uint64_t len, bool hole)
{
  if (hole) {
    SCOPED_LOCK (&fill->lock);

    fill->hole += len;
  }
  if (fill->progress)
    fill->progress (fill->progress_opaque, len);
}

bool
fill_fail (struct fill *fill, const struct error *error)
{
  SCOPED_LOCK (&fill->lock);

  if (error_is_set (&fill->error))
    return false;
  fill->error = *error;
  return true;
}

bool
fill_has_failed (struct fill *fill)
{
  SCOPED_LOCK (&fill->lock);

  return error_is_set (&fill->error);
}

int
fill_missing_at (void *opaque, uint64_t offset, uint64_t *start,
                 uint64_t *len, struct error *error)
{
  struct fill *fill = opaque;
  int err;

  if (offset < fill->from)
    offset = fill->from;
  err = blkhash_leaves_next_missing (fill->leaves, offset, start, len);
  if (err == ENOENT || (err == 0 && *start >= fill->to))
    return 0;
  if (err)
    return error_errno (error, err, "cannot hash");
  if (*len > fill->to - *start)
    *len = fill->to - *start;
  return 1;
}
