/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table: create it, set its content and its size, find what is
 * missing, and release the memory of partial blocks.  See leaves-private.h.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "blkhash.h"
#include "common/util.h"
#include "common/zero.h"
#include "construction/leaf.h"
#include "construction/opts.h"
#include "construction/outer.h"
#include "digest/digest.h"
#include "leaves/leaf-tree.h"
#include "leaves/leaves-private.h"
#include "leaves/leaves.h"
#include "leaves/pieces.h"

/* ---- The size of the image ----
 *
 * It can become known only after the content.  While it is unknown, the image
 * has the maximum size, UINT64_MAX bytes.  A size is refused if a range that
 * was given or observed ends after it.  So setting the size affects no call in
 * progress, and no block but the last.
 */

/* Set the size of the image to SIZE bytes, or to BLKHASH_SIZE_UNKNOWN. */
static void
init_size (struct blkhash_leaves *l, uint64_t size)
{
  l->blocks = DIV_ROUND_UP (size, l->block_size);
  l->size = size;
  l->size_known = size != BLKHASH_SIZE_UNKNOWN;
}

/* Record the end of a range that is given or observed, or truncate a range to
 * forget.  Returns false, and does nothing, if the size has become known.
 */
static bool
enter_unknown (struct blkhash_leaves *l, enum leaves_op op, uint64_t offset,
               uint64_t *len)
{
  uint64_t end = offset + *len;
  SCOPED_LOCK (&l->lock);

  if (l->size_known)
    return false;
  if (op != FORGET) {
    if (l->given_end < end && *len > 0)
      l->given_end = end;
  }
  else if (offset >= l->given_end)
    *len = 0;
  else if (end > l->given_end)
    *len = l->given_end - offset;
  return true;
}

/* Begin a call on *LEN bytes at OFFSET.  Returns 0, or EINVAL if they are not
 * in the image.  While the size is unknown, a range to give or observe is
 * recorded, so that the size cannot later be set to less than its end; and a
 * range to forget is cut at the end of all ranges that were given or observed.
 */
static int
enter_range (struct blkhash_leaves *l, enum leaves_op op, uint64_t offset,
             uint64_t *len)
{
  if (offset > UINT64_MAX - *len)
    return EINVAL;
  if (!l->size_known && enter_unknown (l, op, offset, len))
    return 0;
  return offset + *len > l->size ? EINVAL : 0;
}

int
blkhash_leaves_set_size (struct blkhash_leaves *l, uint64_t size)
{
  if (leaves_is_inherited (l))
    return EINVAL;
  {
    SCOPED_LOCK (&l->lock);

    if (l->size_known || size < l->given_end)
      return EINVAL;
    if (l->error)
      return l->error;
    init_size (l, size);
    l->size_known = true;       /* even if SIZE is UINT64_MAX */
    leaf_tree_set_blocks (l->tree, l->blocks);
  }
  return size % l->block_size ? leaves_end_piece (l, size / l->block_size) : 0;
}

/* ---- Release the memory of pieces ----
 *
 * Complete blocks are hashed, and others are evicted.  If tables share a
 * budget, this can be done by a thread that needs room for another table.
 */

/* Hash a complete block while the lock of the table is held.  The lock is not
 * released and taken again, because this could deadlock: the caller of
 * evict_oldest holds users_lock (see pieces.h), and another thread could wait
 * for users_lock while it holds the lock of the table.
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

/* Callback for struct pieces: release the memory of the oldest block, by
 * hashing it if it is complete, or evicting it.  Called by a thread that needs
 * room for another table with the same budget, if share_make_room has selected
 * this table.  That thread holds users_lock, so this table cannot be freed
 * during the call.  Returns false if there is no block, or if another thread
 * holds the lock of the table.
 */
static bool
evict_oldest (void *opaque)
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

/* ---- Create and free ---- */

#define PIECES_BOUND (64 * 1024 * 1024) /* bytes of the table's own budget */

/* Returns 0, or an errno value. */
static int
start (struct blkhash_leaves *l, const struct blkhash_opts *opts,
       struct pieces_budget *budget)
{
  l->digest = digest_create (opts->digest_name);
  if (!l->digest)
    return errno;
  l->leaf_size = digest_size (l->digest);
  l->unique = digest_is_cryptographic (l->digest);
  l->engine = leaf_engine_create (l->digest, opts->block_size);
  if (!l->engine)
    return errno;
  l->tree = leaf_tree_create (l->blocks, l->leaf_size);
  if (!l->tree)
    return errno;
  l->pieces = pieces_create (opts->block_size, leaf_tree_path_size (l->tree),
                             budget ? budget : &l->own_budget,
                             evict_oldest, l);
  if (!l->pieces)
    return errno;
  if (l->once && !l->no_sum) {
    l->outer = outer_create (l->digest, &l->construction,
                             leaf_zero_md (l->engine));
    if (!l->outer)
      return errno;
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
  int err;

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
  err = fork_watch ();
  l->fork_generation = fork_current ();
  l->block_size = opts->block_size;
  init_size (l, size);
  l->construction = opts->construction;
  l->once = flags & BLKHASH_LEAVES_ONCE;
  l->no_sum = flags & BLKHASH_LEAVES_NO_SUM;
  pthread_mutex_init (&l->completing, NULL);
  pthread_mutex_init (&l->lock, NULL);
  pthread_cond_init (&l->folding_ended, NULL);
  budget_init (&l->own_budget, PIECES_BOUND);
  if (err == 0)
    err = start (l, opts, budget);
  if (err) {
    blkhash_leaves_free (l);
    errno = err;
    return NULL;
  }
  if (budget)
    leaf_enable_gather (l->engine);
  return l;
}

void
leaves_adopt (struct blkhash_leaves *l)
{
  l->fork_generation = fork_current ();
}

void
blkhash_leaves_free (struct blkhash_leaves *l)
{
  int err = errno;

  if (!l || leaves_is_inherited (l))
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
  if (leaves_is_inherited (l))
    return EINVAL;
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

/* ---- Give, observe and forget ---- */

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
  int err = leaves_is_inherited (l) ? EINVAL
                                    : enter_range (l, op, offset, &len);

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

/* ---- Queries ---- */

/* Find the first gap in a partial block at or after START.  Returns false if
 * there is none.  All of a busy block counts as missing, because the call that
 * completed it has not returned yet.  An exception is a block of zeros into
 * which data was written: it was complete before that call.
 */
static bool
find_gap_locked (struct blkhash_leaves *l, uint64_t index, size_t start,
                 size_t *gap, size_t *len)
{
  const struct partial *partial = pieces_find (l->pieces, index);
  size_t end = blocks_length (l, index, 1);
  size_t i;
  bool known = !partial->busy || partial->on_zeros;

  *gap = start;
  for (i = 0; known && i < partial->nr_ranges; i++) {
    const struct partial_range *range = &partial->ranges[i];

    if (range->start > *gap) {
      end = range->start;
      break;
    }
    if (range->end > *gap)
      *gap = range->end;
  }
  *len = end - *gap;
  return *len > 0;
}

int
blkhash_leaves_next_missing (struct blkhash_leaves *l, uint64_t offset,
                             uint64_t *start, uint64_t *len)
{
  uint64_t index = offset / l->block_size;
  size_t gap, gap_len;

  if (leaves_is_inherited (l))
    return EINVAL;

  SCOPED_LOCK (&l->lock);

  if (l->error)
    return l->error;
  if (l->folded == l->blocks)
    return ENOENT;
  if (index < l->folded)
    offset = (index = l->folded) * l->block_size;
  while (offset < leaves_size (l)) {
    struct leaf_run run = leaf_tree_run (l->tree, index);

    if (run.state == LEAF_MISSING) {
      uint64_t end = index + run.count;

      while (end < l->blocks &&
             (run = leaf_tree_run (l->tree, end)).state == LEAF_MISSING)
        end += run.count;
      *start = offset;
      *len = (end == l->blocks ? leaves_size (l) : end * l->block_size) -
        offset;
      return 0;
    }
    if (run.state == LEAF_PARTIAL) {
      run.count = 1;
      if (find_gap_locked (l, index, offset % l->block_size,
                           &gap, &gap_len)) {
        *start = index * l->block_size + gap;
        *len = gap_len;
        return 0;
      }
    }
    index += run.count;
    if (index == l->blocks)
      break;
    offset = index * l->block_size;
  }
  return ENOENT;
}

/* Count the bytes of a partial block that was a block of zeros: it is complete,
 * but not hashed yet.  The bytes of other partial blocks are not counted.
 */
static void
count_partial_locked (struct blkhash_leaves *l, uint64_t index,
                      uint64_t *data, uint64_t *zero)
{
  const struct partial *partial = pieces_find (l->pieces, index);
  uint64_t len = blocks_length (l, index, 1);

  if (partial && partial->on_zeros && partial_covers (partial, len))
    *(is_zero (partial->bytes, len) ? zero : data) += len;
}

void
blkhash_leaves_count (struct blkhash_leaves *l, uint64_t *data,
                      uint64_t *zero)
{
  uint64_t index;

  *data = *zero = 0;
  if (leaves_is_inherited (l))
    return;

  SCOPED_LOCK (&l->lock);
  *data = l->folded_data;
  *zero = l->folded_zero;
  for (index = l->folded; index < l->blocks; ) {
    struct leaf_run run = leaf_tree_run (l->tree, index);

    if (run.state == LEAF_DATA)
      *data += blocks_length (l, index, run.count);
    if (run.state == LEAF_ZERO)
      *zero += blocks_length (l, index, run.count);
    if (run.state == LEAF_PARTIAL) {
      run.count = 1;
      count_partial_locked (l, index, data, zero);
    }
    index += run.count;
  }
}

bool
leaves_next_contradiction (struct blkhash_leaves *l,
                           uint64_t *offset, uint64_t *len)
{
  struct contradicted *last;
  size_t n;

  if (__atomic_load_n (&l->nr_contradicted, __ATOMIC_ACQUIRE) == 0)
    return false;

  SCOPED_LOCK (&l->lock);
  n = l->nr_contradicted;
  if (n == 0)
    return false;
  if (n > LEAVES_CONTRADICTED) {
    *offset = 0;
    *len = l->size;
    n = 1;
  }
  else {
    last = &l->contradicted[n - 1];
    *offset = last->index * l->block_size;
    *len = blocks_length (l, last->index, last->count);
  }
  __atomic_store_n (&l->nr_contradicted, n - 1, __ATOMIC_RELEASE);
  return true;
}

size_t
blkhash_leaves_batch (const struct blkhash_leaves *l)
{
  return leaf_best_count (l->engine) * l->block_size;
}
