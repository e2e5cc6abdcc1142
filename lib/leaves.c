/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table: what is in the image, in any order, from any thread.
 *
 * The tree says what is known of each block, the pieces hold the content of
 * blocks of which only a part is known.  Whole blocks are hashed before the
 * lock is taken.  A block that its last piece completes is hashed without the
 * lock too, and stays in the pieces meanwhile, marked busy: whoever has news
 * of that block then takes it out, and the thread that hashes it finds that
 * its leaf is not wanted any more.
 *
 * An operation that fails half way may leave the table with leaves of content
 * that is gone.  That error sticks, and nothing is ever folded from it.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"
#include "cleanup.h"
#include "digest.h"
#include "leaf-tree.h"
#include "leaf.h"
#include "leaves.h"
#include "opts.h"
#include "outer.h"
#include "pieces.h"
#include "zero.h"

#define PIECES_BOUND (64 * 1024 * 1024) /* bytes */
#define BATCH 64                /* blocks that are hashed at once */

static int
start (struct blkhash_leaves *l, const struct blkhash_opts *opts)
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
  l->pieces = pieces_create (opts->block_size, PIECES_BOUND);
  if (!l->pieces)
    return -1;
  if (l->once) {
    l->outer = outer_create (l->digest, l->streams, leaf_zero (l->engine));
    if (!l->outer)
      return -1;
  }
  return 0;
}

struct blkhash_leaves *
blkhash_leaves_new (const struct blkhash_opts *opts, uint64_t size,
                    unsigned flags)
{
  struct blkhash_opts defaults;
  struct blkhash_leaves *l;

  if (flags & ~BLKHASH_LEAVES_ONCE) {
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
  l->size = size;
  l->block_size = opts->block_size;
  l->blocks = size / l->block_size + (size % l->block_size != 0);
  l->streams = opts->streams;
  l->once = flags & BLKHASH_LEAVES_ONCE;
  pthread_mutex_init (&l->lock, NULL);
  pthread_cond_init (&l->folding_ended, NULL);
  if (start (l, opts) == -1) {
    blkhash_leaves_free (l);
    return NULL;
  }
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
  pthread_cond_destroy (&l->folding_ended);
  pthread_mutex_destroy (&l->lock);
  free (l);
  errno = err;
}

/* What a caller says is so from now on, or is what it found. */
enum how { GIVE, LEARN };

/* ---- Whole blocks ---- */

static int
stick_locked (struct blkhash_leaves *l, int err)
{
  if (l->error == 0)
    l->error = err;
  return err;
}

/* A busy block belongs to the thread that hashes it. */
static void
drop_partial_locked (struct blkhash_leaves *l, struct partial *partial)
{
  pieces_remove (l->pieces, partial);
  if (!partial->busy)
    partial_free (partial);
}

static void
drop_partials_locked (struct blkhash_leaves *l, uint64_t first,
                      uint64_t count)
{
  uint64_t end = first + count;

  while (first < end && !pieces_is_empty (l->pieces)) {
    struct leaf_run run = leaf_tree_run (l->tree, first);

    if (run.state == LEAF_PARTIAL) {
      drop_partial_locked (l, pieces_find (l->pieces, first));
      run.count = 1;
    }
    first += run.count;
  }
}

static int
set_blocks_locked (struct blkhash_leaves *l, uint64_t first, uint64_t count,
                   enum leaf_state state)
{
  int err;

  drop_partials_locked (l, first, count);
  l->generation++;
  err = leaf_tree_set (l->tree, first, count, state);
  return err ? stick_locked (l, err) : 0;
}

static int
store_locked (struct blkhash_leaves *l, uint64_t index,
              const struct leaf_block *block)
{
  int err;

  if (block->zero)
    return set_blocks_locked (l, index, 1, LEAF_ZERO);
  drop_partials_locked (l, index, 1);
  l->generation++;
  err = leaf_tree_set_data (l->tree, index, block->md);
  return err ? stick_locked (l, err) : 0;
}

/* Can these blocks be given, or were they given before? */
static int
check_new_locked (struct blkhash_leaves *l, uint64_t first, uint64_t count)
{
  uint64_t end = first + count;

  if (l->error)
    return l->error;
  if (!l->once)
    return 0;
  if (first < l->folded)
    return EEXIST;
  while (first < end) {
    struct leaf_run run = leaf_tree_run (l->tree, first);

    if (run.state != LEAF_MISSING)
      return EEXIST;
    first += run.count;
  }
  return 0;
}

/* A look at a block found BLOCK there.  What was known and is not so becomes
 * missing: nobody knows which of the two is right.
 */
static int
learn_block_locked (struct blkhash_leaves *l, uint64_t index,
                    const struct leaf_block *block)
{
  struct leaf_run run = leaf_tree_run (l->tree, index);
  bool agrees = true;

  switch (run.state) {
  case LEAF_MISSING:
    break;
  case LEAF_ZERO:
    agrees = block->zero;
    break;
  case LEAF_DATA:
    agrees = !block->zero &&
      memcmp (run.leaves, block->md, l->leaf_size) == 0;
    break;
  case LEAF_PARTIAL:
    agrees = partial_agrees (pieces_find (l->pieces, index), block->data,
                             block->len, 0);
    break;
  }
  if (!agrees)
    return set_blocks_locked (l, index, 1, LEAF_MISSING);
  if (run.state == LEAF_ZERO || run.state == LEAF_DATA)
    return 0;
  return store_locked (l, index, block);
}

/* Up to BATCH whole blocks: COUNT blocks from INDEX. */
static int
put_blocks (struct blkhash_leaves *l, enum how how, const unsigned char *buf,
            uint64_t index, size_t count)
{
  unsigned char leaves[BATCH * BLKHASH_MAX_MD_SIZE];
  struct leaf_block blocks[BATCH];
  size_t i;
  int err;

  for (i = 0; i < count; i++) {
    blocks[i].data = buf + i * l->block_size;
    blocks[i].len = blocks_length (l, index + i, 1);
    blocks[i].md = leaves + i * l->leaf_size;
  }
  err = leaf_batch (l->engine, blocks, count);

  SCOPED_LOCK (&l->lock);
  if (err)
    return stick_locked (l, err);
  err = check_new_locked (l, index, count);
  for (i = 0; i < count && err == 0; i++)
    err = how == LEARN ? learn_block_locked (l, index + i, &blocks[i])
                       : store_locked (l, index + i, &blocks[i]);
  if (err == 0 && l->once)
    leaves_fold_early_locked (l);
  return err;
}

/* ---- Pieces of blocks ---- */

/* Find what is known of the content of a block, to change a part of it.  Of
 * a complete block that is not zero nothing is: only its leaf was kept.
 * NULL: no memory.
 */
static struct partial *
open_partial_locked (struct blkhash_leaves *l, uint64_t index)
{
  enum leaf_state state = leaf_tree_run (l->tree, index).state;
  struct partial *partial = NULL;

  if (state == LEAF_PARTIAL) {
    partial = pieces_find (l->pieces, index);
    if (!partial->busy)
      return partial;
    drop_partial_locked (l, partial);
  }
  l->generation++;
  partial = pieces_add (l->pieces, index);
  if (!partial)
    goto fail;
  if (leaf_tree_set (l->tree, index, 1, LEAF_PARTIAL) != 0)
    goto fail;
  if (state == LEAF_ZERO &&
      pieces_put (l->pieces, partial, NULL, blocks_length (l, index, 1), 0) != 0)
    goto fail;
  return partial;

 fail:
  stick_locked (l, ENOMEM);
  return NULL;
}

static int
check_new_piece_locked (struct blkhash_leaves *l, uint64_t index,
                        size_t len, size_t start)
{
  enum leaf_state state;
  struct partial *partial;

  if (l->error)
    return l->error;
  if (!l->once)
    return 0;
  if (index < l->folded)
    return EEXIST;
  state = leaf_tree_run (l->tree, index).state;
  if (state == LEAF_MISSING)
    return 0;
  if (state != LEAF_PARTIAL)
    return EEXIST;
  partial = pieces_find (l->pieces, index);
  return partial->busy || partial_overlaps (partial, len, start) ? EEXIST : 0;
}

static void
evict_locked (struct blkhash_leaves *l, const struct partial *keep)
{
  struct partial *oldest;

  while ((oldest = pieces_excess (l->pieces, keep)))
    set_blocks_locked (l, oldest->index, 1, LEAF_MISSING);
}

/* All pieces of the block are there: make its leaf. */
static int
complete_partial (struct blkhash_leaves *l, struct partial *partial)
{
  unsigned char leaf[BLKHASH_MAX_MD_SIZE];
  uint64_t index = partial->index;
  struct leaf_block block = {
    .data = partial->bytes, .len = blocks_length (l, index, 1), .md = leaf
  };
  int err = leaf_batch (l->engine, &block, 1);

  SCOPED_LOCK (&l->lock);
  if (err)
    stick_locked (l, err);
  else if (pieces_find (l->pieces, index) == partial) {
    err = store_locked (l, index, &block);
    if (err == 0 && l->once)
      leaves_fold_early_locked (l);
  }
  if (pieces_find (l->pieces, index) != partial)
    partial_free (partial);
  return err;
}

/* Does a look at a piece of a block teach anything?  A complete block says
 * all, and a look that contradicts what is known only makes it missing.
 */
static bool
learns_piece_locked (struct blkhash_leaves *l, const unsigned char *buf,
                     size_t len, uint64_t index, size_t start)
{
  enum leaf_state state = leaf_tree_run (l->tree, index).state;
  const struct partial *partial;

  if (state == LEAF_MISSING)
    return true;
  if (state == LEAF_PARTIAL) {
    partial = pieces_find (l->pieces, index);
    if (partial_agrees (partial, buf, len, start))
      return !partial->busy;
  }
  if (state == LEAF_PARTIAL || (state == LEAF_ZERO && buf))
    set_blocks_locked (l, index, 1, LEAF_MISSING);
  return false;
}

/* LEN bytes, less than a block, at START of the block INDEX; BUF is NULL for
 * zeros.
 */
static int
put_piece (struct blkhash_leaves *l, enum how how, const unsigned char *buf,
           size_t len, uint64_t index, size_t start)
{
  struct partial *partial;

  if (buf && is_zero (buf, len))
    buf = NULL;
  {
    int err;
    SCOPED_LOCK (&l->lock);

    err = check_new_piece_locked (l, index, len, start);
    if (err)
      return err;
    if (how == LEARN && !learns_piece_locked (l, buf, len, index, start))
      return l->error;
    if (!buf && leaf_tree_run (l->tree, index).state == LEAF_ZERO)
      return 0;
    partial = open_partial_locked (l, index);
    if (!partial)
      return ENOMEM;
    l->generation++;
    if (pieces_put (l->pieces, partial, buf, len, start) != 0)
      return stick_locked (l, ENOMEM);
    if (!partial_covers (partial, blocks_length (l, index, 1), 0)) {
      evict_locked (l, partial);
      return 0;
    }
    partial->busy = true;
  }
  return complete_partial (l, partial);
}

static int
forget_piece (struct blkhash_leaves *l, size_t len, uint64_t index,
              size_t start)
{
  struct partial *partial;
  SCOPED_LOCK (&l->lock);

  if (l->error)
    return l->error;
  if (leaf_tree_run (l->tree, index).state == LEAF_MISSING)
    return 0;
  partial = open_partial_locked (l, index);
  if (!partial)
    return ENOMEM;
  l->generation++;
  if (pieces_forget (l->pieces, partial, len, start) != 0)
    return stick_locked (l, ENOMEM);
  if (partial->nr_ranges == 0)
    return set_blocks_locked (l, index, 1, LEAF_MISSING);
  evict_locked (l, partial);
  return 0;
}

/* ---- The public calls ---- */

static bool
range_is_valid (const struct blkhash_leaves *l, uint64_t len, uint64_t offset)
{
  return offset <= l->size && len <= l->size - offset;
}

/* How many whole blocks LEN bytes at OFFSET begin with. */
static uint64_t
whole_blocks (const struct blkhash_leaves *l, uint64_t len, uint64_t offset)
{
  uint64_t count = len / l->block_size;

  if (offset % l->block_size != 0)
    return 0;
  /* The short last block is whole when all of it is there. */
  if (offset + len == l->size && len % l->block_size != 0)
    count++;
  return count;
}

/* The bytes of LEN at OFFSET that are in the first block. */
static size_t
first_piece (const struct blkhash_leaves *l, uint64_t len, uint64_t offset)
{
  size_t left = l->block_size - offset % l->block_size;

  return len < left ? len : left;
}

static int
put_data (struct blkhash_leaves *l, enum how how, const unsigned char *data,
          size_t len, uint64_t offset)
{
  if (!range_is_valid (l, len, offset))
    return EINVAL;
  while (len > 0) {
    uint64_t index = offset / l->block_size;
    uint64_t count = whole_blocks (l, len, offset);
    size_t n;
    int err;

    if (count > 0) {
      if (count > BATCH)
        count = BATCH;
      n = blocks_length (l, index, count);
      err = put_blocks (l, how, data, index, count);
    }
    else {
      n = first_piece (l, len, offset);
      err = put_piece (l, how, data, n, index, offset % l->block_size);
    }
    if (err)
      return err;
    data += n;
    offset += n;
    len -= n;
  }
  return 0;
}

int
blkhash_leaves_data (struct blkhash_leaves *l, const void *buf,
                     size_t len, uint64_t offset)
{
  return put_data (l, GIVE, buf, len, offset);
}

int
leaves_learn_data (struct blkhash_leaves *l, const void *buf,
                   size_t len, uint64_t offset)
{
  return put_data (l, LEARN, buf, len, offset);
}

static int
learn_zero_blocks_locked (struct blkhash_leaves *l, uint64_t index,
                          uint64_t count)
{
  static const struct leaf_block zero = { .zero = true };
  uint64_t end = index + count;
  int err = l->error;

  while (index < end && err == 0) {
    struct leaf_run run = leaf_tree_run (l->tree, index);

    if (run.count > end - index)
      run.count = end - index;
    switch (run.state) {
    case LEAF_MISSING:
      err = set_blocks_locked (l, index, run.count, LEAF_ZERO);
      break;
    case LEAF_ZERO:
      break;
    case LEAF_DATA:
      err = set_blocks_locked (l, index, run.count, LEAF_MISSING);
      break;
    case LEAF_PARTIAL:
      run.count = 1;
      if (partial_agrees (pieces_find (l->pieces, index), NULL,
                          blocks_length (l, index, 1), 0))
        err = store_locked (l, index, &zero);
      else
        err = set_blocks_locked (l, index, 1, LEAF_MISSING);
      break;
    }
    index += run.count;
  }
  return err;
}

static int
put_zero_blocks (struct blkhash_leaves *l, enum how how, uint64_t index,
                 uint64_t count)
{
  int err;
  SCOPED_LOCK (&l->lock);

  if (how == LEARN)
    return learn_zero_blocks_locked (l, index, count);
  err = check_new_locked (l, index, count);
  if (err == 0)
    err = set_blocks_locked (l, index, count, LEAF_ZERO);
  if (err == 0 && l->once)
    leaves_fold_early_locked (l);
  return err;
}

static int
put_zero (struct blkhash_leaves *l, enum how how, uint64_t len,
          uint64_t offset)
{
  if (!range_is_valid (l, len, offset))
    return EINVAL;
  while (len > 0) {
    uint64_t index = offset / l->block_size;
    uint64_t count = whole_blocks (l, len, offset);
    uint64_t n;
    int err;

    if (count > 0) {
      n = blocks_length (l, index, count);
      err = put_zero_blocks (l, how, index, count);
    }
    else {
      n = first_piece (l, len, offset);
      err = put_piece (l, how, NULL, n, index, offset % l->block_size);
    }
    if (err)
      return err;
    offset += n;
    len -= n;
  }
  return 0;
}

int
blkhash_leaves_zero (struct blkhash_leaves *l, uint64_t len, uint64_t offset)
{
  return put_zero (l, GIVE, len, offset);
}

int
leaves_learn_zero (struct blkhash_leaves *l, uint64_t len, uint64_t offset)
{
  return put_zero (l, LEARN, len, offset);
}

static int
forget_blocks (struct blkhash_leaves *l, uint64_t index, uint64_t count)
{
  SCOPED_LOCK (&l->lock);

  if (l->error)
    return l->error;
  return set_blocks_locked (l, index, count, LEAF_MISSING);
}

int
blkhash_leaves_forget (struct blkhash_leaves *l, uint64_t len,
                       uint64_t offset)
{
  if (!range_is_valid (l, len, offset))
    return EINVAL;
  if (l->once && len > 0)
    return EEXIST;
  while (len > 0) {
    uint64_t index = offset / l->block_size;
    uint64_t count = whole_blocks (l, len, offset);
    uint64_t n;
    int err;

    if (count > 0) {
      n = blocks_length (l, index, count);
      err = forget_blocks (l, index, count);
    }
    else {
      n = first_piece (l, len, offset);
      err = forget_piece (l, n, index, offset % l->block_size);
    }
    if (err)
      return err;
    offset += n;
    len -= n;
  }
  return 0;
}
