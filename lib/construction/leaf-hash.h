/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hash a group of blocks to leaves, in the calling thread.
 *
 * If our kernels have the digest, many blocks are hashed at once, see lanes.h;
 * otherwise the digest's library hashes one after the other.  leaf.c detects
 * zeros, and groups the blocks of several threads.
 */

#ifndef BLKHASH_LEAF_HASH_H
#define BLKHASH_LEAF_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest;

/* The most blocks of a group. */
#define LEAF_GROUP 32

struct leaf_block {
  const void *data;
  size_t len;                   /* at least 1, at most the block size */
  unsigned char *md;            /* where the leaf goes, digest_size bytes */
  bool zero;                    /* set: all zero, and MD was not stored */
};

struct hashers;                 /* any number of threads can use one at once */

/* DIGEST must outlive it.  NULL with errno set on failure. */
struct hashers *hashers_create (const struct digest *digest,
                                uint32_t block_size);
void hashers_free (struct hashers *hashers);

/* The number of blocks above which more are not faster: no need to wait for
 * more.  0: one is enough.  It can change after hashers_measure.
 */
size_t hashers_full_group (const struct hashers *hashers);

/* Measure the kernels if that is due, which it is twice in a process.  Call it
 * after each hashers_hash, when no other thread waits for this one: it nearly
 * always returns at once, but can take some hundred microseconds.  0, or EIO if
 * a kernel computes wrong results; the leaves computed before are right.
 */
int hashers_measure (struct hashers *hashers);

/* Hash COUNT blocks, at most LEAF_GROUP.  0, ENOMEM or EIO. */
int hashers_hash (struct hashers *hashers, struct leaf_block *const *blocks,
                  size_t count);

/* Store the leaf of LEN zero bytes. */
int hashers_zeros (struct hashers *hashers, size_t len, unsigned char *md);

#endif /* BLKHASH_LEAF_HASH_H */
