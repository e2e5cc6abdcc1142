/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A group of blocks in, their leaves out, in the calling thread.
 *
 * Some digests of many blocks at once are ours, see lanes.h; all else is done
 * one block after the other by whoever the digest comes from.
 *
 * It does not look for zeros, and knows nothing of other threads' blocks.
 */

#ifndef BLKHASH_LEAF_HASH_H
#define BLKHASH_LEAF_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest;

/* Blocks that are hashed at once: the best batch has as many. */
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

/* How many blocks are worth no waiting for more; 0: even one.  It can change
 * after hashers_measure.
 */
size_t hashers_full_group (const struct hashers *hashers);

/* Measure, twice in a process, how fast this CPU hashes how many blocks.  To be
 * called after each hashers_hash by a thread for which no other waits: nearly
 * always it returns at once, but it can take some hundred microseconds.  0, or
 * EIO if this CPU computes wrong leaves, although none of those that were made.
 */
int hashers_measure (struct hashers *hashers);

/* Hash COUNT blocks, at most LEAF_GROUP.  0, ENOMEM or EIO. */
int hashers_hash (struct hashers *hashers, struct leaf_block *const *blocks,
                  size_t count);

/* Store the leaf of LEN zero bytes. */
int hashers_zeros (struct hashers *hashers, size_t len, unsigned char *md);

#endif /* BLKHASH_LEAF_HASH_H */
