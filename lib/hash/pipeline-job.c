/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The jobs of a pipeline: each hashes data to leaves, in a thread of the pool,
 * or in the appending thread if no thread can be started.
 *
 * A job belongs to the thread that runs it, until that thread marks it done
 * under the pipeline's lock.
 */

#include <config.h>

#include <pthread.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"
#include "construction/leaf.h"
#include "hash/pipeline-private.h"
#include "hash/pipeline.h"
#include "hash/pool.h"

/* Store in BLOCKS the next blocks of the jobs, from offset *OFFSET in *JOB on,
 * and advance both.  Returns the number of blocks, at most LEAF_GROUP.
 */
static size_t
take_blocks (const struct job **job, size_t *offset,
             struct leaf_block *blocks)
{
  size_t n = 0;

  while (n < LEAF_GROUP && *job) {
    const struct pipeline *pipeline = (*job)->pipeline;
    size_t left = (*job)->len - *offset;

    blocks[n].data = (*job)->data + *offset;
    blocks[n].len = MIN (left, pipeline->block_size);
    blocks[n].md = (*job)->leaves
      + *offset / pipeline->block_size * pipeline->leaf_size;
    *offset += blocks[n++].len;
    if (*offset == (*job)->len) {
      *job = (const struct job *) (*job)->task.next;
      *offset = 0;
    }
  }
  return n;
}

/* Blocks of several jobs are hashed together, to fill the lanes.  An error is
 * therefore recorded in all of these jobs.
 */
static int
hash_jobs (const struct job *job)
{
  const struct pipeline *pipeline = job->pipeline;
  struct leaf_block blocks[LEAF_GROUP];
  size_t n, offset = 0;

  while ((n = take_blocks (&job, &offset, blocks)) > 0) {
    int err = leaf_batch (pipeline->engine, blocks, n);

    for (size_t i = 0; i < n && err == 0; i++) {
      if (!blocks[i].zero)
        continue;
      if (blocks[i].len == pipeline->block_size)
        memcpy (blocks[i].md, leaf_zero_md (pipeline->engine),
                pipeline->leaf_size);
      else
        err = leaf_hash_zeros (pipeline->engine, blocks[i].len, blocks[i].md);
    }
    if (err)
      return err;
  }
  return 0;
}

static void
end_job (struct job *job, int err)
{
  struct pipeline *pipeline = job->pipeline;
  void (*done_cb) (void *, int) = job->done_cb;
  void *opaque = job->opaque;

  {
    SCOPED_LOCK (&pipeline->lock);

    job->error = err;
    job->done = true;
    pthread_cond_signal (&pipeline->job_done);
  }
  /* The appending thread may reuse the job from here on. */
  if (done_cb)
    done_cb (opaque, err);
}

static void
run_jobs (struct pool_task *tasks)
{
  struct job *next, *job = (struct job *) tasks;
  int err = hash_jobs (job);

  for (; job; job = next) {
    next = (struct job *) job->task.next;
    end_job (job, err);
  }
}

struct pool *
pipeline_pool_create (unsigned threads)
{
  return pool_create (threads, LEAF_GROUP, run_jobs);
}
