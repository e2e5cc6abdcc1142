/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compute the leaves (digests) of a group of blocks, in the calling thread.
 *
 * If the digest has SIMD (multi-buffer) implementations, called kernels,
 * several blocks are hashed at once: see lanes.h.  Otherwise the blocks are
 * hashed one after the other by the library that implements the digest.  leaf.c
 * detects blocks of zeros, and groups the blocks of several threads.
 */

#ifndef BLKHASH_LEAF_HASH_H
#define BLKHASH_LEAF_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest;

/* The maximum number of blocks in a group. */
#define LEAF_GROUP 32

struct leaf_block {
  const void *data;
  size_t len;                   /* at least 1, at most the block size */
  unsigned char *md;            /* output buffer for the leaf, digest_size
                                 * bytes */
  bool zero;                    /* set by leaf_batch: the block is all zero,
                                 * and its leaf is not stored in MD */
};

struct hashers;                 /* thread-safe */

/* DIGEST must outlive the hashers.  Returns NULL with errno set on failure. */
struct hashers *hashers_create (const struct digest *digest,
                                uint32_t block_size);
void hashers_free (struct hashers *hashers);

/* Returns the number of blocks in a full group: larger groups are hardly faster
 * per block, so waiting for more blocks has little benefit.  Returns 0 if the
 * digest has no kernels, because then single blocks are as fast as groups.
 * hashers_measure can change the number.
 */
size_t hashers_full_group (const struct hashers *hashers);

/* Measure the speed of the kernels if a measurement is due, at most twice
 * per process and digest.  Call this after each hashers_hash, when no thread
 * waits for the caller: usually it returns immediately, but a measurement takes
 * some hundred microseconds.  Returns 0, or EIO if a kernel computes wrong
 * results.  Leaves computed before the error are correct.
 */
int hashers_measure (struct hashers *hashers);

/* Hash COUNT blocks, at most LEAF_GROUP, and store each leaf in the MD of its
 * block.  Returns 0, ENOMEM or EIO.
 */
int hashers_hash (struct hashers *hashers, struct leaf_block *const *blocks,
                  size_t count);

/* The same for a block of LEN zero bytes, whose leaf is stored in MD. */
int hashers_zeros (struct hashers *hashers, size_t len, unsigned char *md);

#endif /* BLKHASH_LEAF_HASH_H */
