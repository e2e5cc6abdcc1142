/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table: collects the content of an image in any order, from any
 * thread, and folds the leaves to the digest of the image.
 *
 * The tree has the state and the leaf of each block; the pieces have the
 * content of partial blocks.  A range is cut into whole blocks, which are
 * hashed without the lock, and pieces of blocks, which are copied.
 *
 * After an operation has failed midway, the table can have leaves of outdated
 * content.  So the error is sticky: later calls that give, forget or fold
 * content, or query what is missing, return the same error, and no digest is
 * ever computed from the table.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "blkhash.h"
#include "common/numbers.h"
#include "construction/leaf.h"
#include "construction/opts.h"
#include "construction/outer.h"
#include "digest/digest.h"
#include "leaves/leaf-tree.h"
#include "leaves/leaves-private.h"
#include "leaves/leaves.h"
#include "leaves/pieces.h"

#define PIECES_BOUND (64 * 1024 * 1024) /* bytes of the table's own budget */

static int
start (struct blkhash_leaves *l, const struct blkhash_opts *opts,
       struct pieces_budget *budget)
{
  l->digest = digest_create (opts->digest_name);
  if (!l->digest)
    return -1;
  l->leaf_size = digest_size (l->digest);
  l->engine = leaf_engine_create (l->digest, opts->block_size);
  if (!l->engine)
    return -1;
  l->tree = leaf_tree_create (l->blocks, l->leaf_size);
  if (!l->tree)
    return -1;
  l->pieces = pieces_create (opts->block_size, leaf_tree_path_size (l->tree),
                             budget ? budget : &l->own_budget,
                             leaves_evict_oldest, l);
  if (!l->pieces)
    return -1;
  if (l->once && !l->no_sum) {
    l->outer = outer_create (l->digest, &l->construction,
                             leaf_zero_md (l->engine));
    if (!l->outer)
      return -1;
  }
  return 0;
}

struct blkhash_leaves *
blkhash_leaves_new (const struct blkhash_opts *opts, uint64_t size,
                    unsigned flags)
{
  return leaves_new_in_budget (opts, size, flags, NULL);
}

struct blkhash_leaves *
leaves_new_in_budget (const struct blkhash_opts *opts, uint64_t size,
                      unsigned flags, struct pieces_budget *budget)
{
  struct blkhash_opts defaults;
  struct blkhash_leaves *l;

  if (flags & ~(BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM) ||
      flags == BLKHASH_LEAVES_NO_SUM) {
    errno = EINVAL;
    return NULL;
  }
  if (!opts) {
    opts_init (&defaults);
    opts = &defaults;
  }
  l = calloc (1, sizeof *l);
  if (!l)
    return NULL;
  l->block_size = opts->block_size;
  leaves_init_size (l, size);
  l->construction = opts->construction;
  l->once = flags & BLKHASH_LEAVES_ONCE;
  l->no_sum = flags & BLKHASH_LEAVES_NO_SUM;
  pthread_mutex_init (&l->completing, NULL);
  pthread_mutex_init (&l->lock, NULL);
  pthread_cond_init (&l->folding_ended, NULL);
  budget_init (&l->own_budget, PIECES_BOUND);
  if (start (l, opts, budget) == -1) {
    blkhash_leaves_free (l);
    return NULL;
  }
  if (budget)
    leaf_enable_gather (l->engine);
  return l;
}

void
blkhash_leaves_free (struct blkhash_leaves *l)
{
  int err = errno;

  if (!l)
    return;
  outer_free (l->outer);
  pieces_free (l->pieces);
  leaf_tree_free (l->tree);
  leaf_engine_free (l->engine);
  digest_free (l->digest);
  budget_destroy (&l->own_budget);
  pthread_cond_destroy (&l->folding_ended);
  pthread_mutex_destroy (&l->lock);
  pthread_mutex_destroy (&l->completing);
  free (l);
  errno = err;
}

int
leaves_describe (struct blkhash_leaves *l, struct blkhash_opts *opts,
                 uint64_t *size)
{
  if (!l->size_known)
    return ENODATA;
  opts_init (opts);
  opts->digest_name = digest_name (l->digest);
  opts->digest_size = l->leaf_size;
  opts->block_size = l->block_size;
  opts->construction = l->construction;
  *size = l->size;
  return 0;
}

/* Returns the number of whole blocks at the start of LEN bytes at OFFSET. */
static uint64_t
whole_blocks (const struct blkhash_leaves *l, uint64_t len, uint64_t offset)
{
  uint64_t count = len / l->block_size;

  if (offset % l->block_size != 0)
    return 0;
  /* The short last block is whole if the range contains all of it. */
  if (offset + len == leaves_size (l) && len % l->block_size != 0)
    count++;
  return count;
}

/* Returns the number of the LEN bytes at OFFSET that are in the first block. */
static size_t
first_piece (const struct blkhash_leaves *l, uint64_t len, uint64_t offset)
{
  size_t left = l->block_size - offset % l->block_size;

  return MIN (len, left);
}

/* BUF is NULL for zeros and for FORGET. */
static int
put (struct blkhash_leaves *l, enum leaves_op op, const unsigned char *buf,
     uint64_t len, uint64_t offset)
{
  bool refused = op == FORGET && l->once && len > 0;
  int err = leaves_enter_range (l, op, offset, &len);

  if (err || refused)
    return err ? err : EEXIST;
  while (len > 0) {
    uint64_t index = offset / l->block_size, n;
    uint64_t count = whole_blocks (l, len, offset);

    if (count > 0) {
      if (buf && count > LEAVES_BATCH)
        count = LEAVES_BATCH;
      n = blocks_length (l, index, count);
      err = leaves_put_blocks (l, op, buf, index, count);
    }
    else {
      n = first_piece (l, len, offset);
      err = leaves_put_piece (l, op, buf, n, index, offset % l->block_size);
    }
    if (err)
      return err;
    if (buf)
      buf += n;
    offset += n;
    len -= n;
  }
  return 0;
}

int
blkhash_leaves_data (struct blkhash_leaves *l, const void *buf,
                     size_t len, uint64_t offset)
{
  if (!buf && len > 0)
    return EINVAL;
  return put (l, GIVE, buf, len, offset);
}

int
blkhash_leaves_zero (struct blkhash_leaves *l, uint64_t len, uint64_t offset)
{
  return put (l, GIVE, NULL, len, offset);
}

int
blkhash_leaves_forget (struct blkhash_leaves *l, uint64_t len,
                       uint64_t offset)
{
  return put (l, FORGET, NULL, len, offset);
}

int
leaves_observe_data (struct blkhash_leaves *l, const void *buf,
                     size_t len, uint64_t offset)
{
  return put (l, OBSERVE, buf, len, offset);
}

int
leaves_observe_zero (struct blkhash_leaves *l, uint64_t len, uint64_t offset)
{
  return put (l, OBSERVE, NULL, len, offset);
}
