/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hash the blocks of an image in parallel, and fold their leaves in order.
 *
 * One thread appends to the image.  What it appends is divided into jobs, which
 * are kept in a ring.  A job of data has at most 1024 blocks and at most 2 MiB,
 * but at least one block.  The threads of a pool hash the blocks of the jobs.
 * The appending thread folds the leaves of finished jobs, oldest first, into
 * the outer hash before it starts another job.
 *
 * All functions are called by one thread at a time.  Those that return int
 * return 0 or an errno value; errors are sticky.
 */

#ifndef BLKHASH_PIPELINE_H
#define BLKHASH_PIPELINE_H

#include <stddef.h>
#include <stdint.h>

struct leaf_engine;
struct outer;
struct pool;

struct pipeline;

/* Create a pool that runs the jobs of a pipeline with blocks of BLOCK_SIZE
 * bytes, in up to THREADS threads.  Returns NULL with errno set on failure.
 */
struct pool *pipeline_pool_create (unsigned threads, uint32_t block_size);

/* ENGINE and OUTER must outlive the pipeline, and POOL must be freed before it.
 * LEAF_SIZE is in bytes.  The ring has room for 2 * THREADS + 2 + DEPTH jobs.
 * If it is full, an append that needs another job waits for the oldest one.
 * Returns NULL with errno ENOMEM.
 */
struct pipeline *pipeline_create (struct leaf_engine *engine,
                                  struct outer *outer, struct pool *pool,
                                  uint32_t block_size, size_t leaf_size,
                                  unsigned threads, unsigned depth);
void pipeline_free (struct pipeline *pipeline);

/* Append a copy of LEN bytes of BUF, or zeros if BUF is NULL, for any LEN. */
int pipeline_copy (struct pipeline *pipeline, const unsigned char *buf,
                   size_t len);

/* Returns the number of copied bytes after the last full block. */
size_t pipeline_partial (const struct pipeline *pipeline);

/* Append full blocks without copying: LEN is a multiple of the block size, and
 * pipeline_partial must be 0.  This creates pipeline_data_jobs (LEN) jobs.
 * Each job calls DONE, usually in a thread of the pool, when it does not need
 * BUF any more; ERROR is 0 or an errno value.  After an error, or if the pool
 * is freed, some jobs never call DONE.
 */
int pipeline_data (struct pipeline *pipeline, const void *buf, size_t len,
                   void (*done) (void *opaque, int error), void *opaque);
size_t pipeline_data_jobs (const struct pipeline *pipeline, size_t len);

/* Append COUNT blocks of zeros; pipeline_partial must be 0. */
int pipeline_zeros (struct pipeline *pipeline, uint64_t count);

/* End the image: submit the copied bytes, hash a short last block without
 * padding, and wait until all leaves are folded.  After an error leaves are not
 * folded, but the function still waits until no job reads its data any more.
 */
int pipeline_finish (struct pipeline *pipeline);

#endif /* BLKHASH_PIPELINE_H */
