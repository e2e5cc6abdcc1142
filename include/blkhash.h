/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libblkhash: a block based hash for disk images.
 *
 * The image is divided into blocks.  The digest of each block is a leaf, and
 * the result is the digest of all leaves, in order.  All full blocks of zeros
 * have the same leaf, which is computed once, so the empty parts of an image
 * cost almost nothing.  Blocks of data are hashed in parallel.
 * blkhash-format(7) describes the construction byte for byte.
 *
 * There are two interfaces:
 *
 *  - struct blkhash hashes an image that is read sequentially (blkhash_update,
 *    blkhash_zero, blkhash_final);
 *  - struct blkhash_leaves accepts parts of the image in any order from any
 *    thread (blkhash-leaves.h, which is included here).
 *
 * To write a manifest (blkhash-manifest.h), use a leaf table even if the image
 * is read sequentially, because struct blkhash does not keep leaves.
 *
 * Functions that return int return 0 or a positive errno value, unless noted
 * otherwise.  Constructors return NULL and set errno.  Lengths and offsets in
 * the image are uint64_t, lengths in memory size_t, all in bytes.  Pointers
 * must not be NULL unless the comment permits it.
 *
 * Different objects are independent: threads can use them at the same time.
 * Only one thread at a time may use the same object, except a leaf table.
 *
 * After fork(2) the child cannot use a struct blkhash or a leaf table of its
 * parent, because their threads and locks belong to the parent.  Such a call
 * returns EINVAL at once, and blkhash_free and blkhash_leaves_free return at
 * once and free nothing.  In the parent all objects remain valid.  The child
 * can use options of the parent, and create objects of its own.  But if another
 * thread was in OpenSSL during the fork, for instance in a constructor, a lock
 * of OpenSSL may be held for ever in the child.  blkhash-manifest.h describes
 * readers and writers.  The library knows of a fork by pthread_atfork(3), so
 * not of one by _Fork or by a system call.
 *
 * Programs written for blkhash 0.11 or older compile and link unchanged.  These
 * functions keep their prototypes and errors: blkhash_new, _new_opts, _update,
 * _zero, _aio_update, _aio_completion_fd, _aio_completions, _final and _free;
 * blkhash_digests; blkhash_opts_new, _free, the setters and getters of the
 * block size, threads, queue depth and streams, and
 * blkhash_opts_get_digest_name; struct blkhash_completion and
 * BLKHASH_MAX_MD_SIZE.  Because the prototypes are kept, blkhash_zero has a
 * length of size_t, blkhash_aio_completion_fd returns -1 and sets errno, and
 * blkhash_aio_completions returns a negative errno value.  All other functions
 * are new.
 *
 * The library prints nothing, and installs no signal handlers.
 */

#ifndef BLKHASH_H
#define BLKHASH_H

#include <stddef.h>
#include <stdint.h>

#include <blkhash-leaves.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header: 1.2.3 is major 1, minor 2, micro 3. */
#define BLKHASH_VERSION_MAJOR 1
#define BLKHASH_VERSION_MINOR 0
#define BLKHASH_VERSION_MICRO 0

/*
 * Returns the version of the library at run time, such as "1.0.0".  The string
 * is valid until the program ends.  Thread-safe.
 */
const char *blkhash_version (void);

/* The longest digest, in bytes, of any algorithm. */
#define BLKHASH_MAX_MD_SIZE 64

/* The maximum size of a tag of options, in bytes, including the NUL. */
#define BLKHASH_MAX_TAG_SIZE 64

/* The maximum size of a reason, the text of an error, in bytes, including the
 * NUL.
 */
#define BLKHASH_MAX_REASON_SIZE 160

struct blkhash;
struct blkhash_opts;

/* ---- Options --------------------------------------------------------- */

/*
 * Create options with the defaults and the digest DIGEST_NAME, one of those
 * that blkhash_digests() lists.  Case does not matter, and the aliases of
 * OpenSSL ("SHA2-256") are accepted.  The name is copied.
 *
 * Returns NULL and sets errno: EINVAL if there is no such digest or DIGEST_NAME
 * is NULL; ENOMEM.
 *
 * Only one thread at a time may use an options object.  Constructors copy the
 * options, so the object can then be changed, used again or freed.
 */
struct blkhash_opts *blkhash_opts_new (const char *digest_name);

/*
 * Create a copy of OPTS, or options with the defaults if OPTS is NULL.
 *
 * Returns NULL with errno ENOMEM.
 */
struct blkhash_opts *blkhash_opts_copy (const struct blkhash_opts *opts);

/*
 * Create options from TAG, a text that describes how a hash is computed, see
 * blkhash_opts_get_tag.  Threads and queue depth have their defaults.
 *
 * Returns NULL and sets errno: EINVAL if TAG is NULL, is not spelled exactly as
 * blkhash_opts_get_tag spells it (lower case, largest unit), or names a digest
 * that this library does not have; ENOMEM.
 */
struct blkhash_opts *blkhash_opts_from_tag (const char *tag);

/*
 * Create options from SPEC, the text that a user gives, as to blksum --digest:
 *
 *     DIGEST                  the defaults for all else: 64 KiB blocks, flat
 *     DIGEST/SIZE             flat
 *     DIGEST/SIZE/sN          N streams
 *     DIGEST/SIZE/linear
 *
 * "blk-" may precede it, so a tag is a spec, too.  Case does not matter.
 * DIGEST is any name that blkhash_opts_new accepts, even one with a slash, such
 * as SHA2-512/256.  SIZE is the block size in bytes, or with the unit k or m.
 * Threads and queue depth have their defaults.
 *
 * Returns NULL and sets errno: EINVAL if SPEC is NULL, has another form, names
 * a digest that this library does not have, or a size or a number of streams
 * that is not allowed; ENOMEM.
 */
struct blkhash_opts *blkhash_opts_from_spec (const char *spec);

/* Free options; NULL is allowed. */
void blkhash_opts_free (struct blkhash_opts *opts);

/*
 * Set the block size in bytes: a power of two from 4 to 16 MiB.  The default is
 * 64 KiB.  This changes the hash.
 *
 * This and the other functions that set an option return EINVAL, and change
 * nothing, if the value is not allowed.
 */
int blkhash_opts_set_block_size (struct blkhash_opts *opts,
                                 uint32_t block_size);

/*
 * Set the number of threads that hash: 1 to 128.  The default is the number of
 * online CPUs, at most 16.  This does not change the hash.  A leaf table
 * ignores this option, because it starts no threads.
 */
int blkhash_opts_set_threads (struct blkhash_opts *opts, uint8_t threads);

/*
 * Set the number of asynchronous updates that can be in flight, up to 65536.
 * 0, the default, disables the asynchronous calls.  A leaf table ignores this
 * option.
 */
int blkhash_opts_set_queue_depth (struct blkhash_opts *opts,
                                  unsigned queue_depth);

/*
 * Select the construction: 0, the default, is flat; 1 to 1024 is the
 * construction streams, with that number of streams.  Set 64 to get the hash of
 * blkhash 0.9.  This changes the hash, and resets linear to 0.
 */
int blkhash_opts_set_streams (struct blkhash_opts *opts, unsigned streams);

/*
 * Select the construction: 1 is linear, which is flat without the size of the
 * image, for comparison with the sums of other programs.  0, the default, is
 * not linear.  This changes the hash, and 1 resets the number of streams to 0.
 */
int blkhash_opts_set_linear (struct blkhash_opts *opts, int linear);

/*
 * Return the current value.  The digest name is spelled as blkhash_digests()
 * lists it, and is valid until the options are freed.  The block size is in
 * bytes.
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
 * Store the tag of OPTS, which describes how a hash is computed, in TAG:
 *
 *     blk-sha256/64k          digest and block size
 *     blk-sha256/64k/s64      and 64 streams
 *     blk-sha256/4m/linear    and the construction linear
 *
 * TAG is a buffer of SIZE bytes; BLKHASH_MAX_TAG_SIZE is sufficient.
 *
 * Returns 0, or ERANGE if SIZE is too small; then TAG is truncated, and
 * terminated by a NUL unless SIZE is 0.
 */
int blkhash_opts_get_tag (const struct blkhash_opts *opts, char *tag,
                          size_t size);

/*
 * Returns 1 if A and B have the same digest, block size, and construction, so
 * that the hash of an image is the same with both; otherwise 0.  Threads and
 * queue depth are ignored.
 */
int blkhash_opts_same_hash (const struct blkhash_opts *a,
                            const struct blkhash_opts *b);

/*
 * List the digests, sorted by name.  Stores up to COUNT names in NAMES, and
 * returns the number of digests, which may be larger than COUNT.
 * blkhash_digests (NULL, 0) only returns this number.  If there is not enough
 * memory, the list is incomplete.  The names are valid until the program ends.
 * Thread-safe.
 */
size_t blkhash_digests (const char **names, size_t count);

/* ---- Sums as text ---------------------------------------------------- */

/*
 * Parse TEXT, the hash of one image in any notation that blksum, blkhash and
 * the filters for nbdkit print or accept.  blkhash-format(7) describes them:
 *
 *     HEX                     blk-SPEC = HEX
 *     HEX  NAME               blk-SPEC (NAME) = HEX
 *     HEX *NAME               blk-SPEC:HEX
 *
 * A backslash at the start means that backslash, newline and carriage return in
 * NAME are escaped, as by sha256sum; the name is then decoded.  A line can end
 * with a carriage return.  Empty lines and comments are ignored, but exactly
 * one line must be a sum.
 *
 * Stores in *OPTS options with the parameters of SPEC, which the caller frees,
 * or NULL if the sum has no SPEC; then nothing shows which hash it is.  Stores
 * the hash in MD, a buffer of BLKHASH_MAX_MD_SIZE bytes, and its length in
 * bytes in *LEN.  Stores in *NAME the name, which the caller frees with
 * free(3), or NULL if there is none.  It can be any string, and need not be
 * UTF-8.  LEN and NAME may be NULL.
 *
 * Returns EINVAL if TEXT is not one such sum, if SPEC is not allowed (see
 * blkhash_opts_from_spec), or if the number of digits is not that of the
 * digest; or ENOMEM.  On error *OPTS and *NAME are NULL, MD and *LEN are not
 * set, and the reason as text, such as "there are two sums", is stored in
 * REASON, a buffer of SIZE bytes; BLKHASH_MAX_REASON_SIZE is sufficient, and a
 * longer text is truncated.  REASON may be NULL.  Thread-safe.
 */
int blkhash_sum_parse (const char *text, struct blkhash_opts **opts,
                       unsigned char *md, unsigned int *len, char **name,
                       char *reason, size_t size);

/* ---- Streaming: from the first byte to the last ---------------------- */

/*
 * Create a hash with the defaults (sha256, 64 KiB blocks, flat), or with
 * OPTS (NULL means the defaults).
 *
 * Returns NULL and sets errno: ENOMEM; EMFILE or ENFILE, only if the queue
 * depth is not 0; EINVAL if the configuration of OpenSSL does not provide the
 * digest; EIO if the digest failed.
 *
 * Only one thread at a time may use a hash.  Different hashes are independent.
 */
struct blkhash *blkhash_new (void);
struct blkhash *blkhash_new_opts (const struct blkhash_opts *opts);

/*
 * Append LEN bytes of data.  BUF can have any length and alignment, and can be
 * used again when the call returns.
 *
 * Errors: EINVAL after blkhash_final, or if BUF is NULL and LEN is not 0;
 * EOVERFLOW if the image would be longer than 2^64 - 1 bytes; ENOMEM; EIO if
 * the digest failed, in this call or in a thread that hashes earlier data.
 * Errors are sticky: every later call that appends, and blkhash_final, returns
 * the first error.
 */
int blkhash_update (struct blkhash *h, const void *buf, size_t len);

/*
 * Append LEN zero bytes, such as a hole.  The hash is the same as with
 * blkhash_update of zeros, but this call needs constant memory, and much less
 * time: with the defaults about a third of a second for each TiB, in this call
 * or a later one.  Smaller blocks take more time.  Limit LEN if it is not
 * trusted.  Errors as in blkhash_update.
 */
int blkhash_zero (struct blkhash *h, size_t len);

/*
 * Append LEN bytes of data without waiting for them to be hashed.  Whole blocks
 * are not copied: BUF must not change until the completion with USER_DATA is
 * reaped, or blkhash_final or blkhash_free returns.
 *
 * Synchronous and asynchronous calls can be mixed: all of them append to the
 * image, in the order of the calls.  Memory is bounded, so the call may wait
 * for earlier data to be hashed: if the request does not start and end at a
 * block boundary; if it has, for each thread, much more than 2 MiB or many more
 * than 1024 blocks; or if the oldest data is still being hashed when all data
 * after it was hashed, because memory is released in order.  The call may also
 * hash zeros that were appended earlier, and its own data if no thread can be
 * started.  A request with LEN 0 completes like any other.
 *
 * Returns EAGAIN if queue_depth requests are in flight, that is, submitted and
 * not reaped; then nothing was appended, and this error is not sticky.  Returns
 * ENOTSUP, which is sticky, if the queue depth is 0.  Other errors as in
 * blkhash_update; then there is no completion, and BUF can be used again.
 */
int blkhash_aio_update (struct blkhash *h, const void *buf, size_t len,
                        void *user_data);

/*
 * Returns a file descriptor that becomes readable when requests have completed.
 * It is non-blocking and belongs to H.  Drain it, with a read of at least 8
 * bytes, before blkhash_aio_completions, so that no wake-up is lost.
 *
 * Returns -1 and sets errno: ENOTSUP if the queue depth is 0, EINVAL after
 * blkhash_final.
 */
int blkhash_aio_completion_fd (struct blkhash *h);

struct blkhash_completion {
  void *user_data;              /* as given to blkhash_aio_update */
  int error;                    /* 0, or a positive errno value */
};

/*
 * Reap completed requests, in the order of completion.  Stores up to COUNT
 * completions in OUT, an array of COUNT elements, and does not wait.  If more
 * requests have completed, the descriptor stays readable.  The error of a
 * completion is ENOMEM or EIO if its data could not be hashed; then
 * blkhash_final fails, too.
 *
 * Returns the number of completions, or a negative errno value: -ENOTSUP if
 * the queue depth is 0, -EINVAL after blkhash_final.
 */
int blkhash_aio_completions (struct blkhash *h,
                             struct blkhash_completion *out, unsigned count);

/*
 * Wait for the work in flight, and store the hash in MD, a buffer of
 * BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in *LEN (LEN may be NULL).
 * The length of "null" is 0.  This can be called only once, even if it fails:
 * every later call on H except blkhash_free fails with EINVAL.
 *
 * Returns 0, the first error of an earlier call or of this one, or EINVAL if it
 * was called before.  After an error nothing is stored.
 */
int blkhash_final (struct blkhash *h, unsigned char *md, unsigned int *len);

/*
 * Free H; NULL is allowed.  It can be called at any time: it waits for data
 * that is being hashed, and discards the rest of the work in flight.  No buffer
 * is in use when the call returns.  errno is preserved.  In the child of a fork
 * it does nothing if H is the parent's.
 */
void blkhash_free (struct blkhash *h);

#ifdef __cplusplus
}
#endif

#endif /* BLKHASH_H */
