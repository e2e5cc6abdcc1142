/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The block status of an NBD export.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nbd/extents.h"
#include "nbd/handle.h"
#include "nbd/load.h"
#include "util/error.h"
#include "util/extent.h"

/* The longest range to query, bytes.  nbdkit 1.32 aborts on a query of 2^32 - 1
 * bytes.
 */
#define MAX_STATUS (UINT32_C (1) << 31)

void
nbd_extents_init (struct nbd_extents *extents, uint64_t size)
{
  *extents = (struct nbd_extents) { .size = size };
}

void
nbd_extents_destroy (struct nbd_extents *extents)
{
  free (extents->items);
}

bool
nbd_can_extents (struct nbd_handle *nbd)
{
  return nbd_can_meta_context (nbd, LIBNBD_CONTEXT_BASE_ALLOCATION) == 1;
}

static int
reserve (struct nbd_extents *extents, size_t count)
{
  struct extent *bigger = realloc (extents->items, count * sizeof *bigger);

  if (!bigger)
    return -1;
  extents->items = bigger;
  extents->count = count;
  extents->next = 0;
  return 0;
}

/* Only the flag for zeros counts: a hole without it can read as anything. */
static int
store (void *opaque, const char *context, uint64_t offset,
       uint32_t *entries, size_t nr_entries, int *err)
{
  struct nbd_extents *extents = opaque;
  size_t i, count = nr_entries / 2;

  (void) offset;
  if (strcmp (context, LIBNBD_CONTEXT_BASE_ALLOCATION) != 0 || count == 0)
    return 0;
  if (reserve (extents, count) == -1) {
    *err = ENOMEM;
    return -1;
  }
  for (i = 0; i < count; i++) {
    extents->items[i].len = entries[2 * i];
    extents->items[i].zero = entries[2 * i + 1] & LIBNBD_STATE_ZERO;
  }
  return 0;
}

static int
query (struct nbd_extents *extents, uint64_t len, uint64_t offset)
{
  return nbd_block_status (extents->nbd, len, offset,
                           (nbd_extent_callback) {
                             .callback = store, .user_data = extents,
                           }, 0);
}

int
nbd_extent_at (void *opaque, uint64_t offset, struct extent *extent,
               struct error *error)
{
  struct nbd_extents *extents = opaque;

  if (extents->next == extents->count || extents->offset != offset) {
    uint64_t len = extents->size - offset;

    if (len > MAX_STATUS)
      len = MAX_STATUS;
    extents->count = extents->next = 0;
    if (query (extents, len, offset) == -1)
      return error_set (error, "cannot get extents at offset %llu: %s",
                        (unsigned long long) offset, nbd_error_text ());
    if (extents->count == 0)
      return error_set (error, "the server returned no block status at offset "
                        "%llu", (unsigned long long) offset);
  }
  *extent = extents->items[extents->next++];
  extents->offset = offset + extent->len;
  return 0;
}
