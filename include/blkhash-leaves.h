/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libblkhash: the leaf table of an image, which is given in parts, in any order
 * and from any thread.
 *
 * blkhash.h includes this, and says what all functions have in common.
 */

#ifndef BLKHASH_LEAVES_H
#define BLKHASH_LEAVES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct blkhash_leaves;
struct blkhash_opts;

/*
 * The image is given once: no byte is given twice or forgotten.  Then the
 * table folds and frees leaves as soon as all blocks before them are known, so
 * that an image that is given roughly in order takes next to no memory.  Bytes
 * of a block that was evicted, see blkhash_leaves_new, count as not given.
 */
#define BLKHASH_LEAVES_ONCE 1u

/*
 * Only with BLKHASH_LEAVES_ONCE: alone it is EINVAL.  The digest of the image
 * is not computed, and blkhash_leaves_fold stores none.  Only the sink gets the
 * leaves.  Enormous runs of zeros cost nothing then.
 */
#define BLKHASH_LEAVES_NO_SUM 2u

/* For blkhash_leaves_new: blkhash_leaves_set_size sets the size. */
#define BLKHASH_SIZE_UNKNOWN UINT64_MAX

/*
 * Create the leaf table of an image of SIZE bytes, or of unknown size if
 * SIZE is BLKHASH_SIZE_UNKNOWN.  All blocks are missing at first.  OPTS may be
 * NULL for the defaults.  FLAGS is 0, BLKHASH_LEAVES_ONCE, or
 * BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM.
 *
 * Returns NULL and sets errno: EINVAL for other flags, or if the configuration
 * of OpenSSL does not provide the digest; ENOMEM; EIO if it failed.
 *
 * Any number of threads may use a table at once, except that
 * blkhash_leaves_free must be the last call.  On each block, calls that
 * overlap in time take effect in some order.
 *
 * Memory grows with the data given, not with SIZE: a digest for each block of
 * data; nothing for runs of zeros; and up to 64 MiB for blocks of which only a
 * part is known, but at least for one.  When there is no more room, the oldest
 * such block is evicted, and is missing again.  So is a block of which too many
 * pieces are known that do not touch each other, when one more arrives: one for
 * each 128 bytes of a block, but 64 to 4096; 512 in blocks of 64 KiB.  The call
 * that evicts returns 0: ask blkhash_leaves_next_missing.
 */
struct blkhash_leaves *blkhash_leaves_new (const struct blkhash_opts *opts,
                                           uint64_t size, unsigned flags);

/* Free L; NULL is allowed.  errno is preserved. */
void blkhash_leaves_free (struct blkhash_leaves *l);

/*
 * Set the size of the image to SIZE bytes, which may be UINT64_MAX, where it
 * was unknown.  Before that, blocks can be given up to 2^64 - 1 bytes, at the
 * same cost as with a known size, but the table cannot be folded.  A short
 * last block that was given before is complete from now on.  (It was copied,
 * and is hashed in this call; a last block given after this call is not
 * copied.)
 *
 * Can succeed once, while other threads give blocks before SIZE.  A manifest
 * cannot have the size UINT64_MAX.
 *
 * Errors: EINVAL if the size is known already, or if bytes were given at or
 * after SIZE, even if they were forgotten since: nothing changes then; ENOMEM,
 * EIO, and others that stick.
 */
int blkhash_leaves_set_size (struct blkhash_leaves *l, uint64_t size);

/*
 * Set LEN bytes at OFFSET of the image: to those of BUF (data), to zeros
 * (zero), or to missing (forget).  Any offset and length will do, and ranges
 * can overlap those of earlier calls: the last call counts.  Blocks can arrive
 * in pieces.
 *
 * The table keeps digests, not content: when a part of a complete block that
 * is not all zero is set again, the rest of that block becomes missing.
 *
 * Zeros are hashed when they are folded, at the cost of blkhash_zero: with
 * BLKHASH_LEAVES_ONCE in this call or a later one, and with
 * BLKHASH_LEAVES_NO_SUM never.  If LEN or the size is not trusted, limit it.
 *
 * Hashing is done in the calling threads: one may hash blocks of others, which
 * wait for it.  BUF can be used again on return.
 *
 * Errors: EINVAL if the range passes the end of the image, or BUF is NULL and
 * LEN is not 0: nothing changes then; EEXIST if the table was created with
 * BLKHASH_LEAVES_ONCE and a byte is given twice or forgotten (other parts of
 * the range may have been taken then); ENOMEM; EIO if the digest failed; with
 * BLKHASH_LEAVES_ONCE that of a callback of the sink.  ENOMEM, EIO and those of
 * the sink stick: the leaves could be wrong or lost then, so every later call
 * returns them.  EINVAL and EEXIST do not stick.
 */
int blkhash_leaves_data (struct blkhash_leaves *l, const void *buf,
                         size_t len, uint64_t offset);
int blkhash_leaves_zero (struct blkhash_leaves *l, uint64_t len,
                         uint64_t offset);
int blkhash_leaves_forget (struct blkhash_leaves *l, uint64_t len,
                           uint64_t offset);

/*
 * Find the first missing range at or after OFFSET.  Stores where it starts in
 * *START and its length in *LEN, both in bytes; the next missing range can
 * begin where this one ends.  A range that another thread is giving is missing
 * until that call returns.
 *
 * As long as the size is unknown, the range after the last block that was given
 * is missing, up to UINT64_MAX.
 *
 * Errors: ENOENT if nothing is missing there; those that stick.
 */
int blkhash_leaves_next_missing (struct blkhash_leaves *l, uint64_t offset,
                                 uint64_t *start, uint64_t *len);

/*
 * Store how many bytes of the image are in blocks that are known to have data
 * in *DATA, and in blocks that are known to be zero in *ZERO.  The rest is
 * missing, or in blocks of which only a part is known.
 */
void blkhash_leaves_count (struct blkhash_leaves *l, uint64_t *data,
                           uint64_t *zero);

/*
 * Callbacks that receive the leaves, in the order of the image.
 *
 * data gets COUNT blocks of data from block INDEX on: LEAVES is their leaves,
 * one behind the other, each of LEAF_SIZE bytes.  zero gets COUNT blocks of
 * zeros from block INDEX on.  OPAQUE is that of the sink.
 *
 * Each block comes exactly once, the first is block 0.  Data comes in runs of
 * any length.  Consecutive blocks of zeros come in one call, and the last of
 * them can be the short last block of the image; but with
 * BLKHASH_LEAVES_NO_SUM they come as soon as they are known, in runs of any
 * length.
 *
 * Both return 0, or a positive errno value, which ends the fold.
 *
 * A program sets all members: reserved to NULL.
 */
struct blkhash_leaf_sink {
  int (*data) (void *opaque, uint64_t index, size_t count,
               const unsigned char *leaves, size_t leaf_size);
  int (*zero) (void *opaque, uint64_t index, uint64_t count);
  void *opaque;
  void *reserved[4];            /* NULL; for later versions */
};

/*
 * Set the sink of L.  SINK is copied; NULL means none.
 *
 * Each blkhash_leaves_fold calls it for all leaves, from block 0, before it
 * returns.  A table that was created with BLKHASH_LEAVES_ONCE calls it for the
 * leaves before the first missing block in the calls that give blocks, too, so
 * that it need not keep them.  The leaves are those of the image only when
 * blkhash_leaves_fold has returned 0; after an error they can be a part of
 * them.
 *
 * The callbacks run in one thread at a time, which gives blocks or folds,
 * and hold no lock of the table.  Other threads can give blocks meanwhile, but
 * wait when many leaves are to be folded.  A callback must not call functions
 * of the same table.  If it returns an error, the call that made it returns
 * that error; with BLKHASH_LEAVES_ONCE it sticks, as ENOMEM does.
 *
 * Errors: EINVAL if a callback is NULL, if reserved is not NULL, if a callback
 * is running, or if the table was created with BLKHASH_LEAVES_ONCE and block 0
 * was given.  So set it before any block is given.
 */
int blkhash_leaves_set_sink (struct blkhash_leaves *l,
                             const struct blkhash_leaf_sink *sink);

/*
 * Returns how many bytes to give in one call of blkhash_leaves_data: fewer can
 * be slower, more are not faster.  It is a multiple of the block size, up to
 * 512 MiB for the largest blocks: limit it by the memory that you have.  It can
 * change while blocks are hashed, but an earlier value is never much worse.
 */
size_t blkhash_leaves_batch (const struct blkhash_leaves *l);

/*
 * Fold the leaves to the digest of the image and store it in MD, which must
 * have room for BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in *LEN
 * (LEN may be NULL).  The table stays as it is and can be changed and folded
 * again, but a table created with BLKHASH_LEAVES_ONCE can be folded only once
 * successfully; EINVAL after that.
 *
 * If the table was created with BLKHASH_LEAVES_NO_SUM, nothing is stored in MD,
 * which may be NULL, and 0 in *LEN.
 *
 * Errors: ENODATA if a block is missing, or the size is unknown; EBUSY if
 * another thread changed the table meanwhile; ENOMEM, EIO; that of a callback
 * of the sink.  Nothing is stored on error.
 */
int blkhash_leaves_fold (struct blkhash_leaves *l, unsigned char *md,
                         unsigned int *len);

#ifdef __cplusplus
}
#endif

#endif /* BLKHASH_LEAVES_H */
