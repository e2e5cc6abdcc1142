/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table: release the memory of pieces.  Complete blocks are hashed,
 * and others are evicted.  If tables share a budget, this can be done by a
 * thread that needs room for another table.
 */

#include <config.h>

#include <errno.h>

#include "blkhash.h"
#include "common/cleanup.h"
#include "construction/leaf.h"
#include "leaves/leaves-private.h"
#include "leaves/leaves.h"
#include "leaves/pieces.h"

/* Hash a complete block while the lock of the table is held.  The lock is not
 * released and taken again, because this could deadlock: the caller of
 * leaves_evict_oldest holds users_lock (see pieces-budget.h), and another
 * thread could wait for users_lock while it holds the lock of the table.
 */
static void
hash_locked (struct blkhash_leaves *l, const struct partial *partial)
{
  unsigned char leaf[BLKHASH_MAX_MD_SIZE];
  uint64_t index = partial->index;
  struct leaf_block block = {
    .data = partial->bytes, .len = blocks_length (l, index, 1), .md = leaf
  };
  int err = leaf_batch (l->engine, &block, 1);

  if (err) {
    leaves_set_locked (l, index, 1, LEAF_MISSING);
    leaves_set_error_locked (l, err);
  }
  else
    leaves_store_locked (l, index, &block);
}

/* Called by a thread that needs room for another table with the same budget, if
 * pieces-share.c has selected this table.  That thread holds users_lock, so
 * this table cannot be freed during the call.
 */
bool
leaves_evict_oldest (void *opaque)
{
  struct blkhash_leaves *l = opaque;
  struct partial *oldest;

  if (pthread_mutex_trylock (&l->lock) != 0)
    return false;
  oldest = pieces_oldest (l->pieces);
  if (oldest && leaves_is_complete (l, oldest))
    hash_locked (l, oldest);
  else if (oldest)
    leaves_set_locked (l, oldest->index, 1, LEAF_MISSING);
  pthread_mutex_unlock (&l->lock);
  return oldest != NULL;
}

/* Hash the oldest block.  Returns 0; ENODATA if it is incomplete; ENOENT if
 * there is no block; or an error of the table.
 */
static int
hash_oldest (struct blkhash_leaves *l)
{
  struct partial *oldest;

  {
    SCOPED_LOCK (&l->lock);

    oldest = pieces_oldest (l->pieces);
    if (!oldest)
      return ENOENT;
    if (!leaves_is_complete (l, oldest))
      return ENODATA;
    partial_set_busy (l->pieces, oldest);
  }
  return leaves_hash_busy (l, oldest);
}

int
leaves_hash_complete (struct blkhash_leaves *l)
{
  int err;

  do
    err = hash_oldest (l);
  while (err == 0);
  return err == ENOENT ? 0 : err;
}

/* Evict the oldest block, unless it is complete by now. */
static void
evict_incomplete (struct blkhash_leaves *l)
{
  SCOPED_LOCK (&l->lock);
  struct partial *oldest = pieces_oldest (l->pieces);

  if (oldest && !leaves_is_complete (l, oldest))
    leaves_set_locked (l, oldest->index, 1, LEAF_MISSING);
}

void
leaves_set_idle (struct blkhash_leaves *l, bool idle)
{
  l->pieces->idle = idle;
}

void
leaves_release_pieces (struct blkhash_leaves *l)
{
  int err;

  do {
    err = hash_oldest (l);
    if (err == ENODATA)
      evict_incomplete (l);
  } while (err == 0 || err == ENODATA);
}
