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
 *    thread (blkhash-leaves.h, which is included here).
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

#include <blkhash-leaves.h>

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
 * for sums to be compared with those of other programs; 0 is not, the default.
 * Else EINVAL and nothing changes.  Changes the hash.  With 1 the number of
 * streams becomes 0.
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

#ifdef __cplusplus
}
#endif

#endif /* BLKHASH_H */
