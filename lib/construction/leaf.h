/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compute the leaves (digests) of a batch of blocks.  All data of an image
 * passes through leaf_batch.
 *
 * Blocks are independent messages, so the blocks of a batch can be hashed in
 * parallel, each in a lane of a SIMD (multi-buffer) implementation.  Callers
 * should pass as many blocks per call as they can.  Blocks of zeros are
 * detected and not hashed.
 */

#ifndef BLKHASH_LEAF_H
#define BLKHASH_LEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest;

/* The maximum number of blocks that are hashed together. */
#define LEAF_GROUP 32

struct leaf_block {
  const void *data;
  size_t len;                   /* at least 1, at most the block size */
  unsigned char *md;            /* output buffer for the leaf, digest_size
                                 * bytes */
  bool zero;                    /* set by leaf_batch: the block is all zero,
                                 * and its leaf is not stored in MD */
};

struct leaf_engine;             /* thread-safe */

/* DIGEST must outlive the engine.  Returns NULL with errno set on failure. */
struct leaf_engine *leaf_engine_create (const struct digest *digest,
                                        uint32_t block_size);
void leaf_engine_free (struct leaf_engine *engine);

/* Hash COUNT blocks, see struct leaf_block.  Returns 0, ENOMEM or EIO. */
int leaf_batch (struct leaf_engine *engine,
                struct leaf_block *blocks, size_t count);

/* Returns the best number of blocks for a batch, which is a multiple of the
 * size of a full group.  It can change after a batch, but LEAF_GROUP blocks are
 * never much slower.
 */
size_t leaf_best_count (const struct leaf_engine *engine);

/* Gather small batches, for callers that pass them from more threads than there
 * are CPUs: leaf_batch may then wait up to one millisecond for batches of other
 * threads.  After a wait that did not fill the lanes, some batches do not wait.
 * Must be called before the first batch.
 */
void leaf_enable_gather (struct leaf_engine *engine);

/* Returns the leaf of a full block of zeros.  It is valid until the engine is
 * freed.
 */
const unsigned char *leaf_zero_md (const struct leaf_engine *engine);

/* Store in MD the leaf of a block of LEN zero bytes.  Returns 0, ENOMEM or EIO.
 */
int leaf_hash_zeros (struct leaf_engine *engine, size_t len,
                     unsigned char *md);

#endif /* BLKHASH_LEAF_H */
