/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hash the blocks of an image in parallel, and fold their leaves in order.
 *
 * One thread appends to the image.  The data is divided into jobs, in a ring.
 * A job of data has at most 1024 blocks and at most 2 MiB, but at least one
 * block.  The threads of a pool hash the blocks of the jobs.  The appending
 * thread folds the leaves of finished jobs, oldest first, into the outer hash
 * before it starts another job.
 *
 * All functions are called by one thread at a time.  Those that return int
 * return 0 or an errno value; errors are sticky.
 */

#ifndef BLKHASH_ORDER_H
#define BLKHASH_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct leaf_engine;
struct outer;
struct pool;

struct order;

/* Create a pool that runs the jobs of an order, in up to THREADS threads.
 * Returns NULL with errno set on failure.
 */
struct pool *order_pool_create (unsigned threads);

/* ENGINE and OUTER must outlive the order, and POOL must be freed before it.
 * LEAF_SIZE is in bytes.  The ring has 2 * THREADS + 2 + DEPTH jobs; if it is
 * full, an append that needs another job waits for the oldest one.  Returns
 * NULL with errno ENOMEM.
 */
struct order *order_create (struct leaf_engine *engine, struct outer *outer,
                            struct pool *pool, uint32_t block_size,
                            size_t leaf_size, unsigned threads,
                            unsigned depth);
void order_free (struct order *order);

/* Append a copy of LEN bytes of data, or LEN zeros.  LEN can have any value. */
int order_copy (struct order *order, const void *buf, size_t len);
int order_copy_zeros (struct order *order, size_t len);

/* Returns the number of copied bytes after the last full block. */
size_t order_partial (const struct order *order);

/* Append full blocks without copying: LEN is a multiple of the block size, and
 * order_partial must be 0.  This creates order_data_jobs (LEN) jobs.  Each job
 * calls DONE, usually in a thread of the pool, when it does not need BUF any
 * more.  After an error, and if the pool is freed, some jobs do not call DONE.
 */
int order_data (struct order *order, const void *buf, size_t len,
                void (*done) (void *opaque, int error), void *opaque);
size_t order_data_jobs (const struct order *order, size_t len);

/* Append COUNT blocks of zeros; order_partial must be 0. */
int order_zeros (struct order *order, uint64_t count);

/* End the image: submit the copied bytes, hash a short last block without
 * padding, and wait until all leaves are folded.  After an error leaves are not
 * folded, but the function still waits until no job uses its data.
 */
int order_finish (struct order *order);

#endif /* BLKHASH_ORDER_H */
