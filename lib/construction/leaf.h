/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hash a batch of blocks to leaves.  All content of an image is hashed here.
 *
 * Blocks are independent messages, so a batch can be hashed in parallel lanes;
 * callers should pass as many blocks at once as they can.  Blocks of zeros are
 * detected and not hashed.
 */

#ifndef BLKHASH_LEAF_H
#define BLKHASH_LEAF_H

#include <stddef.h>
#include <stdint.h>

#include "construction/leaf-hash.h"

struct digest;

struct leaf_engine;             /* any number of threads can use one at once */

/* DIGEST must outlive the engine.  NULL with errno set on failure. */
struct leaf_engine *leaf_engine_create (const struct digest *digest,
                                        uint32_t block_size);
void leaf_engine_free (struct leaf_engine *engine);

/* Hash COUNT blocks.  0, ENOMEM or EIO. */
int leaf_batch (struct leaf_engine *engine,
                struct leaf_block *blocks, size_t count);

/* The best number of blocks in a batch: a multiple of full groups.  It can
 * change after a batch, but LEAF_GROUP is never much worse.
 */
size_t leaf_best_count (const struct leaf_engine *engine);

/* For batches with few blocks each, from more threads than there are CPUs.
 * Call it before any batch.  From then on leaf_batch may wait for other
 * batches, for a millisecond at most, as long as such waits fill the lanes.
 */
void leaf_gather (struct leaf_engine *engine);

/* The leaf of a full block of zeros; it lives as long as the engine. */
const unsigned char *leaf_zero_md (const struct leaf_engine *engine);

/* Store the leaf of LEN zero bytes. */
int leaf_hash_zeros (struct leaf_engine *engine, size_t len,
                     unsigned char *md);

#endif /* BLKHASH_LEAF_H */
