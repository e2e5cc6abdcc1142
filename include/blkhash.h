/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libblkhash: a block based hash for disk images.
 *
 * The image is cut into blocks, each block is hashed to a leaf, and the
 * leaves, in order, are hashed to the result.  A block of zeros has one leaf
 * that is computed once, so the empty parts of an image cost almost nothing,
 * and all other blocks are hashed in parallel.  blkhash-format(7) describes
 * the construction byte for byte.
 *
 * There are two interfaces:
 *
 *  - struct blkhash takes the image from its first byte to its last, as
 *    sha256sum would (blkhash_update, blkhash_zero, blkhash_final);
 *  - struct blkhash_leaves takes parts of the image in any order from any
 *    thread (blkhash_leaves_data, blkhash_leaves_zero, blkhash_leaves_fold).
 *
 * Only a leaf table makes a manifest (blkhash-manifest.h), also of an image
 * that comes in order: struct blkhash keeps no leaves.
 *
 * Functions that return int return 0, or a positive errno value, unless their
 * comment says otherwise.  Constructors return NULL and set errno.  Lengths and
 * offsets in the image are uint64_t, lengths in memory size_t.  Pointers must
 * not be NULL unless the comment says so.
 *
 * Programs written for blkhash 0.11 and before compile and link unchanged.
 * What they use keeps its prototypes and its errors: blkhash_new, _new_opts,
 * _update, _zero, _aio_update, _aio_completion_fd, _aio_completions, _final
 * and _free; blkhash_digests; blkhash_opts_new, _free, the setters and getters
 * of the block size, threads, queue depth and streams, and
 * blkhash_opts_get_digest_name; struct blkhash_completion and
 * BLKHASH_MAX_MD_SIZE.  So blkhash_zero has a length of size_t,
 * blkhash_aio_completion_fd returns -1 and sets errno, and
 * blkhash_aio_completions returns a negative errno value.  All else is new.
 *
 * The library writes nothing to stderr, installs no signal handlers and keeps
 * no state that a program could see.
 */

#ifndef BLKHASH_H
#define BLKHASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header: 1.2.3 is major 1, minor 2, micro 3. */
#define BLKHASH_VERSION_MAJOR 1
#define BLKHASH_VERSION_MINOR 0
#define BLKHASH_VERSION_MICRO 0

/*
 * Returns the version of the library that the program runs with, such as
 * "1.0.0".  The string is valid until the program ends.  Thread-safe.
 */
const char *blkhash_version (void);

/* The longest digest, in bytes, of any algorithm. */
#define BLKHASH_MAX_MD_SIZE 64

/* The longest tag of options, in bytes, with its NUL. */
#define BLKHASH_MAX_TAG_SIZE 64

struct blkhash;
struct blkhash_leaves;
struct blkhash_opts;

/* ---- Options --------------------------------------------------------- */

/*
 * Create options for the digest NAME, one of those that blkhash_digests()
 * lists; case does not matter and the aliases of OpenSSL ("SHA2-256") are
 * understood.  The name is copied.
 *
 * Returns NULL with errno EINVAL if there is no such digest, or ENOMEM.
 *
 * One thread at a time may use an options object.  Constructors copy what
 * they need from it: it can be changed, used again or freed afterwards.
 */
struct blkhash_opts *blkhash_opts_new (const char *digest_name);

/*
 * Create a copy of OPTS, or options with the defaults if OPTS is NULL.
 *
 * Returns NULL with errno ENOMEM.
 */
struct blkhash_opts *blkhash_opts_copy (const struct blkhash_opts *opts);

/*
 * Create options from TAG, a text that says how a hash is made, as
 * blkhash_opts_get_tag prints it.  Threads and queue depth have their
 * defaults.
 *
 * Returns NULL with errno EINVAL if TAG is NULL, is not in exactly this
 * spelling (lower case, largest unit), or names a digest that this library does
 * not have; ENOMEM.
 */
struct blkhash_opts *blkhash_opts_from_tag (const char *tag);

/* Free options; NULL is allowed. */
void blkhash_opts_free (struct blkhash_opts *opts);

/*
 * Size of a block in bytes: a power of two from 4 to 16 MiB, else EINVAL and
 * nothing changes.  Changes the hash.  Default: 64 KiB.
 */
int blkhash_opts_set_block_size (struct blkhash_opts *opts,
                                 uint32_t block_size);

/*
 * Number of threads that hash: 1 to 128, else EINVAL and nothing changes.
 * Never changes the hash.  Default: the online CPUs, at most 16.
 * A leaf table starts no threads and ignores this.
 */
int blkhash_opts_set_threads (struct blkhash_opts *opts, uint8_t threads);

/*
 * Number of asynchronous updates that can be in flight.  0, the default,
 * disables the asynchronous calls.  EINVAL above 65536.
 * A leaf table ignores this.
 */
int blkhash_opts_set_queue_depth (struct blkhash_opts *opts,
                                  unsigned queue_depth);

/*
 * The construction: 0, the default, is flat; 1 to 1024 is that number of
 * streams, the construction of blkhash 0.9 (64 streams) and older.  Else
 * EINVAL and nothing changes.  Changes the hash.  Turns linear off.
 */
int blkhash_opts_set_streams (struct blkhash_opts *opts, unsigned streams);

/*
 * The construction: 1 is linear, which is flat without the size of the image,
 * for sums to be compared with those of others; 0 is not, the default.  Else
 * EINVAL and nothing changes.  Changes the hash.  With 1 the number of streams
 * becomes 0.
 */
int blkhash_opts_set_linear (struct blkhash_opts *opts, int linear);

/*
 * What was set, or the default.  The digest name is the name in the list of
 * blkhash_digests() and lives as long as the options.
 */
const char *blkhash_opts_get_digest_name (const struct blkhash_opts *opts);
uint32_t blkhash_opts_get_block_size (const struct blkhash_opts *opts);
uint8_t blkhash_opts_get_threads (const struct blkhash_opts *opts);
unsigned blkhash_opts_get_queue_depth (const struct blkhash_opts *opts);
unsigned blkhash_opts_get_streams (const struct blkhash_opts *opts);
int blkhash_opts_get_linear (const struct blkhash_opts *opts);

/*
 * Returns the length in bytes of a digest, and so of a leaf: 32 for sha256, 0
 * for null.
 */
size_t blkhash_opts_get_digest_size (const struct blkhash_opts *opts);

/*
 * Print how a hash is made, in the one spelling that there is:
 *
 *     blk-sha256/64k          digest and block size
 *     blk-sha256/64k/s64      and 64 streams
 *     blk-sha256/4m/linear    and the construction linear
 *
 * TAG has room for SIZE bytes.  BLKHASH_MAX_TAG_SIZE is enough.
 *
 * Returns 0, or ERANGE if SIZE is too small: TAG is cut off then, and ends with
 * a NUL unless SIZE is 0.
 */
int blkhash_opts_get_tag (const struct blkhash_opts *opts, char *tag,
                          size_t size);

/*
 * Returns 1 if A and B have the same digest, block size, and construction, so
 * that they make the same hash of the same image; else 0.  Threads and queue
 * depth do not matter.
 */
int blkhash_opts_same_hash (const struct blkhash_opts *a,
                            const struct blkhash_opts *b);

/*
 * List the digests, sorted by name.  Fills NAMES with up to COUNT names and
 * returns how many digests there are, which may be more than COUNT.
 * blkhash_digests (NULL, 0) asks for that number.  The names are valid until
 * the program ends.  Thread-safe.
 */
size_t blkhash_digests (const char **names, size_t count);

/* ---- Streaming: from the first byte to the last ---------------------- */

/*
 * Create a hash with the defaults (sha256, 64 KiB blocks, flat), or with
 * OPTS (NULL means the defaults).
 *
 * Returns NULL and sets errno: ENOMEM, EMFILE or ENFILE; EINVAL if the
 * configuration of OpenSSL does not provide the digest, EIO if it failed.
 *
 * One thread at a time may use a hash.  Different hashes are independent.
 */
struct blkhash *blkhash_new (void);
struct blkhash *blkhash_new_opts (const struct blkhash_opts *opts);

/*
 * Append LEN bytes of data.  Any length and any alignment will do; BUF can
 * be used again when the call returns.
 *
 * Errors: EINVAL after blkhash_final, or if BUF is NULL and LEN is not 0;
 * EOVERFLOW if the image would pass 2^64 - 1 bytes; ENOMEM; EIO if the digest
 * failed.  The first one sticks: every later call that appends, and
 * blkhash_final, returns it.
 */
int blkhash_update (struct blkhash *h, const void *buf, size_t len);

/*
 * Append LEN zero bytes.  The same hash as blkhash_update with a buffer of
 * zeros, in constant memory and a small fraction of the time: with the defaults
 * about a third of a second for each TiB, in this call or a later one.  The
 * smaller the blocks, the longer.  If LEN is not trusted, limit it.  Errors as
 * in blkhash_update.
 */
int blkhash_zero (struct blkhash *h, size_t len);

/*
 * Append LEN bytes of data without copying them and without waiting for them
 * to be hashed.  The bytes of BUF belong to the library, and must not change,
 * until the completion with USER_DATA was reaped, or blkhash_final or
 * blkhash_free returned.
 *
 * Synchronous and asynchronous calls can be mixed; the image is what they
 * append, in the order of the calls.  Memory is bounded: a request that is much
 * larger, for each thread, than 2 MiB or 1024 blocks, or that does not start
 * and end at a block boundary, may wait for earlier data to be hashed.  Any
 * request may wait if the oldest data is still being hashed when the rest of
 * the queue is done.  A request with LEN 0 completes like any other.
 *
 * Returns EAGAIN when queue_depth requests are in flight, that is, submitted
 * and not reaped; nothing was appended then, and it is not a sticky error.
 * ENOTSUP, which sticks, if the queue depth is 0.  Other errors as in
 * blkhash_update; no completion follows, and BUF is the caller's again.
 */
int blkhash_aio_update (struct blkhash *h, const void *buf, size_t len,
                        void *user_data);

/*
 * A file descriptor that becomes readable when requests have completed.  It
 * is non-blocking and belongs to H.  The caller drains it, with a read of at
 * least 8 bytes, before it reaps: then no wake-up is lost.
 *
 * Returns -1 and sets errno to ENOTSUP if the queue depth is 0.
 */
int blkhash_aio_completion_fd (struct blkhash *h);

struct blkhash_completion {
  void *user_data;              /* as given to blkhash_aio_update */
  int error;                    /* 0, or a positive errno value */
};

/*
 * Reap completed requests, in the order in which they completed.  Fills OUT
 * with up to COUNT completions and does not wait.  If more have completed, the
 * descriptor stays readable.  The error of a completion is ENOMEM or EIO if
 * its data could not be hashed; blkhash_final fails then, too.
 *
 * Returns the number of completions, or a negative errno value: -ENOTSUP if
 * the queue depth is 0, -EINVAL after blkhash_final.
 */
int blkhash_aio_completions (struct blkhash *h,
                             struct blkhash_completion *out, unsigned count);

/*
 * Finish: waits for the work in flight and stores the digest in MD, which must
 * have room for BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in *LEN (LEN
 * may be NULL); the length of "null" is 0.  Can be called once, whatever it
 * returns: every later call on H but blkhash_free fails with EINVAL.
 *
 * On error, the first error of any call, or EINVAL, nothing is stored.
 */
int blkhash_final (struct blkhash *h, unsigned char *md, unsigned int *len);

/*
 * Free H; NULL is allowed.  Safe at any moment: work in flight is dropped,
 * and when the call returns no buffer is in use.  errno is preserved.
 */
void blkhash_free (struct blkhash *h);

/* ---- The leaf table: any part, in any order, from any thread --------- */

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
 * and is hashed in this call; one that is given after this call is not
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
 * The callbacks run in one thread at a time, one that gives blocks or folds,
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

#endif /* BLKHASH_H */
