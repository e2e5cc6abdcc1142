/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libblkhash: the leaf table of an image, whose parts can be set in any order
 * and from any thread.
 *
 * blkhash.h includes this header, and describes the common rules of all
 * functions.  All functions of this header are thread-safe, except
 * blkhash_leaves_free.
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
 * The program sets each byte of the image only once, and never sets it to
 * missing.  This lets the table fold leaves (add them to the digest) and free
 * them as soon as all blocks before them are known, so an image that is set
 * roughly in order takes almost no memory.  Evicted blocks (see
 * blkhash_leaves_new) can be set again.
 */
#define BLKHASH_LEAVES_ONCE 1u

/*
 * Requires BLKHASH_LEAVES_ONCE; alone it causes EINVAL.  The digest of the
 * image is not computed, and blkhash_leaves_fold stores none.  The leaves are
 * only passed to the sink, so a long run of zeros costs nothing.
 */
#define BLKHASH_LEAVES_NO_SUM 2u

/* For blkhash_leaves_new: blkhash_leaves_set_size sets the size later. */
#define BLKHASH_SIZE_UNKNOWN UINT64_MAX

/*
 * Create the leaf table of an image of SIZE bytes, or of unknown size if
 * SIZE is BLKHASH_SIZE_UNKNOWN.  All blocks are missing at first.  OPTS may be
 * NULL for the defaults.  FLAGS is 0, BLKHASH_LEAVES_ONCE, or
 * BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM.
 *
 * Returns NULL and sets errno: EINVAL for other flags, or if the configuration
 * of OpenSSL does not provide the digest; ENOMEM; EIO if the digest failed.
 *
 * Any number of threads may use a table at the same time, except that
 * blkhash_leaves_free must be the last call.  Concurrent calls on the same
 * block take effect in an undefined order.
 *
 * The memory grows with the data in the image, not with SIZE: a digest for each
 * block of data; almost nothing for runs of zeros; and up to 64 MiB for partial
 * blocks, of which only pieces were set.  If more is needed, the partial block
 * to which no piece was added for the longest time is evicted: all of it is
 * missing again.  A block is also evicted if it has too many pieces that are
 * not adjacent: the limit is one piece for each 128 bytes of a block, but at
 * least 64 and at most 4096; it is 512 with blocks of 64 KiB.  The call that
 * evicts a block returns 0, so check blkhash_leaves_next_missing.
 */
struct blkhash_leaves *blkhash_leaves_new (const struct blkhash_opts *opts,
                                           uint64_t size, unsigned flags);

/*
 * Free L; NULL is allowed.  errno is preserved.  In the child of a fork it does
 * nothing if L is the parent's.
 */
void blkhash_leaves_free (struct blkhash_leaves *l);

/*
 * Set the size of an image of unknown size to SIZE bytes, at most UINT64_MAX.
 * Before this call, bytes before offset 2^64 - 1 can be set, at the same cost
 * as with a known size, but the table cannot be folded.  If a short last block
 * was set earlier, its content was copied, and this call completes and hashes
 * it.  It is faster to set that block after this call.
 *
 * This call can succeed only once.  Other threads can set blocks before SIZE at
 * the same time.  An image of UINT64_MAX bytes cannot have a manifest.
 *
 * Errors: EINVAL if the size is already known, or if bytes at or after SIZE
 * were set, even if they are missing again: nothing is changed; ENOMEM, EIO,
 * the error of a callback of the sink, and sticky errors of earlier calls.
 */
int blkhash_leaves_set_size (struct blkhash_leaves *l, uint64_t size);

/*
 * Set LEN bytes at OFFSET of the image: to those of BUF (data), to zeros
 * (zero), or to missing (forget).  The range can have any offset and length.
 * Bytes that earlier calls have set are replaced.  Blocks can arrive in pieces.
 *
 * The table keeps digests, not content: if a part of a complete block of data
 * is replaced or set to missing, the rest of that block becomes missing.  The
 * rest of a complete block of zeros remains known.  If data is set in such a
 * block, its content is kept until the memory is needed or the table is folded;
 * after that it is a block of data like any other.
 *
 * The leaves of zeros are hashed when they are folded, which takes as long as
 * blkhash_zero.  With BLKHASH_LEAVES_ONCE this call or a later one folds them;
 * with BLKHASH_LEAVES_NO_SUM they are not hashed.  Limit LEN and the size if
 * they are not trusted.
 *
 * Data is hashed by the calling threads; a thread may also hash blocks of other
 * threads, which wait for it.  BUF can be used again when the call returns.
 *
 * Errors: EINVAL if the range extends beyond the end of the image, or BUF is
 * NULL and LEN is not 0: nothing is changed; EEXIST if the table was created
 * with BLKHASH_LEAVES_ONCE and a byte is set again or set to missing (other
 * parts of the range may have been set); ENOMEM; EIO if the digest failed; with
 * BLKHASH_LEAVES_ONCE the error of a callback of the sink.  ENOMEM, EIO and
 * errors of the sink are sticky: leaves may be wrong or lost, so this error is
 * returned by every later call that sets content or the size, searches for
 * missing bytes, or folds.  EINVAL and EEXIST are not sticky.
 */
int blkhash_leaves_data (struct blkhash_leaves *l, const void *buf,
                         size_t len, uint64_t offset);
int blkhash_leaves_zero (struct blkhash_leaves *l, uint64_t len,
                         uint64_t offset);
int blkhash_leaves_forget (struct blkhash_leaves *l, uint64_t len,
                           uint64_t offset);

/*
 * Find the first missing range at or after OFFSET, and store its start in
 * *START and its length in *LEN, in bytes.  Another missing range may begin
 * where this one ends.  A range that a call in another thread is setting can
 * be missing until that call returns.
 *
 * As long as the size is unknown, all bytes after the last block that was set
 * are missing, up to UINT64_MAX.
 *
 * Errors: ENOENT if nothing is missing at or after OFFSET; sticky errors.
 * *START and *LEN are not set on error.
 */
int blkhash_leaves_next_missing (struct blkhash_leaves *l, uint64_t offset,
                                 uint64_t *start, uint64_t *len);

/*
 * Store in *DATA the number of bytes in blocks that are known to have data, and
 * in *ZERO the number in blocks that are known to be all zero.  All other bytes
 * are missing, or in partial blocks.  In the child of a fork both are 0 if L is
 * the parent's.
 */
void blkhash_leaves_count (struct blkhash_leaves *l, uint64_t *data,
                           uint64_t *zero);

/*
 * Callbacks that receive the leaves, in the order of the image.
 *
 * The callback "data" is called for COUNT blocks of data from block INDEX on.
 * LEAVES is the concatenation of their leaves, of LEAF_SIZE bytes each; it is
 * valid during the call.  The callback "zero" is called for COUNT blocks of
 * zeros from block INDEX on.  OPAQUE is the opaque member of the sink.
 *
 * For each fold, every block is passed once, from block 0 on.  Runs of data can
 * have any length.  Consecutive blocks of zeros are passed in one call; the
 * last of them can be the short last block of the image.  But with
 * BLKHASH_LEAVES_NO_SUM zeros are passed as soon as they are known, in runs of
 * any length.
 *
 * Both callbacks return 0, or a positive errno value, which ends the fold.
 *
 * A program must set all members, and the elements of reserved to NULL.
 */
struct blkhash_leaf_sink {
  int (*data) (void *opaque, uint64_t index, size_t count,
               const unsigned char *leaves, size_t leaf_size);
  int (*zero) (void *opaque, uint64_t index, uint64_t count);
  void *opaque;
  void *reserved[4];            /* NULL; for later versions */
};

/*
 * Set the sink of L.  SINK is copied; NULL removes the sink.
 *
 * Each blkhash_leaves_fold calls the sink for all leaves, from block 0 on,
 * before it returns.  If the table was created with BLKHASH_LEAVES_ONCE, the
 * sink receives the leaves before the first missing block earlier, in calls
 * that set blocks or the size.  So the table need not keep these leaves, and
 * blkhash_leaves_fold passes only the rest.  The leaves are known to be those
 * of the image only when blkhash_leaves_fold has returned 0; after an error
 * they may be incomplete, or outdated.
 *
 * The callbacks run in one thread at a time, in a call that folds, or that sets
 * blocks or the size.  No lock of the table is held.  Other threads can set
 * blocks at the same time, but wait if too many leaves are not folded yet.  A
 * callback must not call functions of the same table.  If a callback returns an
 * error, the function that called the callback returns it; with
 * BLKHASH_LEAVES_ONCE the error is sticky, like ENOMEM.
 *
 * Errors: EINVAL if a callback is NULL, if reserved is not NULL, or if another
 * thread is using the sink; with BLKHASH_LEAVES_ONCE also if block 0 was set,
 * or the table was folded.  So set the sink before any block.
 */
int blkhash_leaves_set_sink (struct blkhash_leaves *l,
                             const struct blkhash_leaf_sink *sink);

/*
 * Returns the best LEN for blkhash_leaves_data, in bytes: smaller calls can be
 * slower, larger ones are not faster.  It is a multiple of the block size, up
 * to 512 MiB for the largest blocks, so limit it to the available memory.  It
 * can change while blocks are hashed, but an earlier value is not much worse.
 */
size_t blkhash_leaves_batch (const struct blkhash_leaves *l);

/*
 * Compute the digest of the image from the leaves, and store it in MD, a buffer
 * of BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in *LEN (LEN may be
 * NULL).  The table is not changed: more content can be set, and it can be
 * folded again.  A table that was created with BLKHASH_LEAVES_ONCE can be
 * folded successfully only once, and returns EINVAL after that.
 *
 * If the table was created with BLKHASH_LEAVES_NO_SUM, nothing is stored in MD,
 * which may be NULL, and 0 is stored in *LEN.
 *
 * Errors: ENODATA if a byte is missing, or the size is unknown; EBUSY if
 * another thread changed the table during this call; ENOMEM, EIO; the error of
 * a callback of the sink; sticky errors.  Nothing is stored on error.  ENODATA
 * and EBUSY are not sticky.
 */
int blkhash_leaves_fold (struct blkhash_leaves *l, unsigned char *md,
                         unsigned int *len);

#ifdef __cplusplus
}
#endif

#endif /* BLKHASH_LEAVES_H */
