/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hash tree of dm-verity and fs-verity, from the leaves of an image, in
 * order.
 *
 * A hash block has 4096 bytes: the digests of 128 blocks below it with SHA-256,
 * or of 64 with SHA-512; the last hash block of a level is padded with zeros.
 * The lowest level has the leaves.  The highest level is one hash block, whose
 * digest is the root.  There is no salt.  A single data block has no tree: its
 * leaf is the root.
 *
 * Each level keeps one hash block, which is written and hashed when it is full.
 * Equal hash blocks are hashed once: those of a run of zeros, and then the
 * blocks of their digests, and so on.  So zeros cost a few digests, whatever
 * their number.  Memory does not depend on the image.
 */

#ifndef BLKSUM_HASH_TREE_H
#define BLKSUM_HASH_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define HASH_TREE_BLOCK_SIZE 4096

struct digest;
struct hash_tree;

/* Receives COUNT hash blocks that are all equal to BLOCK, and the index of the
 * first of them in the file: the highest level comes first.  Blocks of a level
 * are written in order, those of different levels alternately.  Returns 0, or
 * an errno value.
 */
typedef int hash_tree_write (void *opaque, const unsigned char *block,
                             uint64_t count, uint64_t index);

/* Create the tree of an image of COUNT blocks.  WRITE can be NULL.  The size of
 * DIGEST, which must outlive the tree, must be a power of two up to 64.
 * Returns NULL with errno set on failure.
 */
struct hash_tree *hash_tree_create (const struct digest *digest, uint64_t count,
                                    hash_tree_write *write, void *opaque);
void hash_tree_free (struct hash_tree *tree);

/* Returns the number of hash blocks, that of all levels. */
uint64_t hash_tree_blocks (const struct hash_tree *tree);

/* Append the leaves of the next COUNT blocks, which all have the first of LEAVES
 * if REPEATED is set.  Returns 0; ENOMEM or EIO, if the digest failed; or the
 * error of WRITE.
 */
int hash_tree_append (struct hash_tree *tree, const unsigned char *leaves,
                      uint64_t count, bool repeated);

/* Write the last hash block of each level, after all leaves, and store the root
 * in ROOT, which has the size of a digest.  Without blocks it is all zero.
 * Returns the same errors.
 */
int hash_tree_finish (struct hash_tree *tree, unsigned char *root);

#endif /* BLKSUM_HASH_TREE_H */
