/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blocks in order, hashed out of order, folded in order.
 *
 * One thread appends to the image.  What it appends becomes jobs of at most
 * 2 MiB or one block in a ring; the pool's threads hash their blocks; and the
 * appending thread folds the leaves of finished jobs, oldest first, into the
 * outer hash before it starts another job.
 *
 * All functions are called by one thread at a time and return 0 or an errno
 * value.  The first error sticks.
 */

#ifndef BLKHASH_ORDER_H
#define BLKHASH_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct leaf_engine;
struct outer;
struct pool;

struct order;

/* A pool that runs the jobs of an order, in as many as THREADS threads. */
struct pool *order_pool_create (unsigned threads);

/* ENGINE and OUTER must outlive it, and the pool must be freed before it.
 * DEPTH is the number of zero-copy jobs that can be queued before an append
 * waits.
 */
struct order *order_create (struct leaf_engine *engine, struct outer *outer,
                            struct pool *pool, uint32_t block_size,
                            size_t leaf_size, unsigned threads,
                            unsigned depth);
void order_free (struct order *order);

/* Copy LEN bytes of data, or of zeros; any length. */
int order_copy (struct order *order, const void *buf, size_t len);
int order_copy_zeros (struct order *order, size_t len);

/* How many bytes of a block have been copied since the last full block. */
size_t order_partial (const struct order *order);

/* Append full blocks without copying: LEN is a multiple of the block size,
 * and order_partial is 0.  They become order_data_jobs (LEN) jobs.  Each calls
 * DONE, usually in a thread of the pool, when it does not need BUF any more.
 */
int order_data (struct order *order, const void *buf, size_t len,
                void (*done) (void *opaque, int error), void *opaque);
size_t order_data_jobs (const struct order *order, size_t len);

/* Append COUNT blocks of zeros; order_partial is 0. */
int order_zeros (struct order *order, uint64_t count);

/* End of the image: submit the copied bytes, hash a short last block with its
 * own length, and wait until all leaves are folded.
 */
int order_finish (struct order *order);

#endif /* BLKHASH_ORDER_H */
