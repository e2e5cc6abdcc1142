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
 * There are two ways in:
 *
 *  - struct blkhash takes the image from its first byte to its last, as
 *    sha256sum would (blkhash_update, blkhash_zero, blkhash_final);
 *  - struct blkhash_leaves takes parts of the image in any order from any
 *    thread (blkhash_leaves_data, blkhash_leaves_zero, blkhash_leaves_fold).
 *
 * Functions that return int return 0, or a positive errno value.
 * Constructors return NULL and set errno.  The library writes nothing to
 * stderr, installs no signal handlers and keeps no global mutable state.
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
 * Returns NULL with errno EINVAL if TAG is NULL, is spelled in any other way,
 * or names a digest that this library does not have; ENOMEM.
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
 * EINVAL and nothing changes.  Changes the hash.  Ends what
 * blkhash_opts_set_linear chose.
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
 * zeros, in constant memory and a small fraction of the time.  Errors as in
 * blkhash_update.
 */
int blkhash_zero (struct blkhash *h, size_t len);

/*
 * Append LEN bytes of data without copying them and without waiting for them
 * to be hashed.  The bytes of BUF belong to the library, and must not change,
 * until the completion with USER_DATA was reaped, or blkhash_final or
 * blkhash_free returned.
 *
 * Synchronous and asynchronous calls can be mixed; the image is what they
 * append, in the order of the calls.  Memory is bounded: a request that is
 * much larger, for each thread, than 2 MiB or 1024 blocks, or that does not
 * start and end at a block boundary, may wait for earlier data to be hashed,
 * and so may any other when only the oldest data is not.
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
 * with up to COUNT completions and does not wait.
 *
 * Returns the number of completions, or a negative errno value: -ENOTSUP if
 * the queue depth is 0, -EINVAL after blkhash_final.
 */
int blkhash_aio_completions (struct blkhash *h,
                             struct blkhash_completion *out, unsigned count);

/*
 * Finish: waits for the work in flight and stores the digest in MD, which
 * must have room for BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in
 * *LEN (LEN may be NULL); the length of "null" is 0.  Can be called once;
 * every later call on H but blkhash_free fails with EINVAL.
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
 * The image is given once: no byte is given twice or forgotten.  The table
 * then folds and frees leaves as soon as everything before them is known, so
 * an image that is given roughly in order takes next to no memory.
 */
#define BLKHASH_LEAVES_ONCE 1u

/*
 * Only a sink wants the leaves: the digest of the image is not computed, and
 * blkhash_leaves_fold stores none.  With BLKHASH_LEAVES_ONCE.  Enormous runs of
 * zeros cost nothing then.
 */
#define BLKHASH_LEAVES_NO_SUM 2u

/* For blkhash_leaves_new: blkhash_leaves_set_size will tell. */
#define BLKHASH_SIZE_UNKNOWN UINT64_MAX

/*
 * Create the leaf table of an image of SIZE bytes, or of one whose size is
 * BLKHASH_SIZE_UNKNOWN.  Nothing is known of its content yet.  OPTS may be
 * NULL.  FLAGS is 0 or BLKHASH_LEAVES_ONCE, also with BLKHASH_LEAVES_NO_SUM.
 *
 * Returns NULL and sets errno: EINVAL for other flags, or if the configuration
 * of OpenSSL does not provide the digest; ENOMEM; EIO if it failed.
 *
 * Any number of threads may use a table at once, except that
 * blkhash_leaves_free must be the last call.  On each block, calls that
 * overlap in time take effect in some order.
 *
 * Memory grows with the data given, not with SIZE: a digest for each block
 * of data; nothing for runs of zeros; and up to 64 MiB for blocks of which
 * only a part is known, but always room for one.  When that is exceeded, the
 * oldest such block is forgotten, and is missing again; and so is a block
 * that arrives in thousands of scattered pieces.
 */
struct blkhash_leaves *blkhash_leaves_new (const struct blkhash_opts *opts,
                                           uint64_t size, unsigned flags);

/* Free L; NULL is allowed.  errno is preserved. */
void blkhash_leaves_free (struct blkhash_leaves *l);

/*
 * Tell that the image is SIZE bytes, which may be UINT64_MAX.  Until then as
 * much can be given as fits in 2^64 - 1 bytes, at the same cost as with a known
 * size, but the table cannot be folded.  A short last block that was given
 * before is complete from now on.  (It was copied and is hashed in this call;
 * one that is given after this call, at once, is not copied.)
 *
 * Can be called once, while other threads give what lies before SIZE.
 *
 * Errors: EINVAL if the size is known already, or if something was given at or
 * after SIZE, even if it was forgotten since: nothing changes then; ENOMEM and
 * EIO, which stick.
 */
int blkhash_leaves_set_size (struct blkhash_leaves *l, uint64_t size);

/*
 * The LEN bytes at OFFSET of the image are those of BUF (data), or are zero
 * (zero), or are not known any more (forget).  Any offset, length and overlap
 * with earlier calls is fine; the last call counts.  Blocks can arrive in
 * pieces.
 *
 * The table keeps digests, not content: when a part of a complete block that
 * is not all zero is given anew, the rest of that block becomes missing.
 *
 * Hashing is done in the calling threads, for each other too; BUF can be used
 * again on return.
 *
 * Errors: EINVAL if the range passes the end of the image, or BUF is NULL and
 * LEN is not 0: nothing changes then; EEXIST if the table was created with
 * BLKHASH_LEAVES_ONCE and a byte is given twice or forgotten (other parts of
 * the range may have been taken then); ENOMEM; EIO if the digest failed.
 * ENOMEM and EIO stick: what the table says could be wrong then, so every later
 * call returns them.
 */
int blkhash_leaves_data (struct blkhash_leaves *l, const void *buf,
                         size_t len, uint64_t offset);
int blkhash_leaves_zero (struct blkhash_leaves *l, uint64_t len,
                         uint64_t offset);
int blkhash_leaves_forget (struct blkhash_leaves *l, uint64_t len,
                           uint64_t offset);

/*
 * Find the first missing range at or after OFFSET and store where it starts
 * and its length, both in bytes; another may follow at once.  Returns ENOENT
 * if nothing is missing there.  A range that another thread is just giving is
 * missing until that call returns.
 *
 * As long as the size is not known, all that comes after what was given is
 * missing too, up to UINT64_MAX, so there is always something.
 */
int blkhash_leaves_next_missing (struct blkhash_leaves *l, uint64_t offset,
                                 uint64_t *start, uint64_t *len);

/*
 * How many bytes of the image are in blocks known to hold data, and in blocks
 * known to be all zero.  The rest is missing, or in blocks known in part.
 */
void blkhash_leaves_count (struct blkhash_leaves *l, uint64_t *data,
                           uint64_t *zero);

/*
 * Who is told of the leaves, in the order of the image: of COUNT blocks of data
 * from block INDEX on, whose leaves lie one behind the other in LEAVES, each of
 * LEAF_SIZE bytes; or of COUNT blocks that are all zero.
 *
 * Each block comes exactly once, the first is block 0.  Runs of zeros come
 * whole: one never follows another, and the last can end with a short block.
 * But with BLKHASH_LEAVES_NO_SUM they come at once, in parts of any length.
 * Runs of data come in parts of any length.
 *
 * Both functions return 0, or a positive errno value, which ends the fold.
 */
struct blkhash_leaf_sink {
  int (*data) (void *opaque, uint64_t index, size_t count,
               const unsigned char *leaves, size_t leaf_size);
  int (*zero) (void *opaque, uint64_t index, uint64_t count);
  void *opaque;
  void *reserved[4];            /* NULL; for later versions */
};

/*
 * Set who is told of the leaves; SINK is copied, NULL means nobody.
 *
 * Each blkhash_leaves_fold tells of all of them, from block 0, before it
 * returns.  A table that was created with BLKHASH_LEAVES_ONCE tells of those
 * before the first that is missing, also in the calls that give blocks, so that
 * it need not keep them.  What was told is the image only when
 * blkhash_leaves_fold has returned 0; one that fails may have told of a part.
 *
 * The functions are called by one thread at a time, whichever brought what was
 * missing or folds, and without any lock of the table; others can give blocks
 * meanwhile, but wait when there are many leaves to tell of.  They must not
 * call functions of the same table.  What they return, unless it is 0, is what
 * the fold returns; with BLKHASH_LEAVES_ONCE it sticks, as ENOMEM does, and is
 * what the call returns that told them.
 *
 * Errors: EINVAL if one of the functions is NULL or reserved is not, if a sink is just being told,
 * or if the table was created with BLKHASH_LEAVES_ONCE and has told of leaves,
 * or would have.  So set it before anything is given.
 */
int blkhash_leaves_set_sink (struct blkhash_leaves *l,
                             const struct blkhash_leaf_sink *sink);

/*
 * How many bytes to give in one call of blkhash_leaves_data: with less it can
 * be slower, with more it is not faster.  A multiple of the block size, up to
 * 512 MiB for the largest blocks: bound it by the memory that you have.  It can
 * change while blocks are hashed; what it said before is never much worse.
 */
size_t blkhash_leaves_batch (const struct blkhash_leaves *l);

/*
 * Fold the leaves to the digest of the image and store it in MD, which must
 * have room for BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in *LEN
 * (LEN may be NULL).  The table stays as it is and can be changed and folded
 * again, but a table created with BLKHASH_LEAVES_ONCE can be folded only
 * once; EINVAL after that.
 *
 * Of a table created with BLKHASH_LEAVES_NO_SUM nothing is stored in MD, which
 * may be NULL, and 0 in *LEN.
 *
 * Errors: ENODATA if something is missing, the size for one; EBUSY if another
 * thread changed the table meanwhile; ENOMEM, EIO; what a sink returned.
 * Nothing is stored on error.
 */
int blkhash_leaves_fold (struct blkhash_leaves *l, unsigned char *md,
                         unsigned int *len);

#ifdef __cplusplus
}
#endif

#endif /* BLKHASH_H */
