/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ring contains, oldest first, jobs that are being hashed, and runs of zero
 * blocks, which need no hashing.  Its last job may still be receiving copied
 * bytes.  The size of the ring limits the memory: an append waits for the
 * oldest job if the ring is full.  All of this runs in the appending thread.
 *
 * Rejected: passing the data of a job to a leaf table, which also hashes blocks
 * and folds their leaves.  The ring, the copies and the pool would remain,
 * because the limit on memory requires waiting for the oldest job; the leaf
 * table would only add a tree, a lock that threads share, and 80 lines.  The
 * leaf table was slower if hashing a block takes little time.  "ratio" is the
 * bytes per CPU second of blkhash-bench --aio --streams 0 with the leaf table,
 * divided by those without it: medians of 31 alternating runs, on a busy AMD
 * EPYC (family 23, model 1) with 2 CPUs.  "noise" is the same ratio between two
 * halves of the runs without a leaf table.
 *
 *   digest, block size, threads    ratio     noise
 *   sha256, 64 KiB, 2              1.01      0.96
 *   sha256, 4 KiB, 2               0.98      0.98
 *   sha256, 512 bytes, 2           0.96      0.99
 *   sha256, 64 bytes, 16           0.94      0.99
 *   sha256, 4 KiB of zeros, 2      0.89      1.04
 *   null, 4 KiB, 2                 0.86      1.17
 *
 * For this measurement the leaf table was changed: only the appending thread
 * folded.  With the unchanged table, in which threads of the pool fold, a
 * request after a hole of 4 TiB completes after 6 s instead of 0.1 s.  If each
 * hole is passed to the table in a separate call, holes of 64 KiB take 12 times
 * as long.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/util.h"
#include "construction/leaf.h"
#include "construction/outer.h"
#include "hash/pipeline.h"
#include "hash/pool.h"

#define JOB_BYTES (2u << 20)    /* maximum bytes of data in a job, unless one
                                 * block is larger */
#define TASK_BYTES (2u << 20)   /* maximum bytes of several small jobs that a
                                 * thread takes at a time: fewer threads are
                                 * woken */
#define COPIES (48u << 20)      /* maximum bytes of all buffers for copies */
#define JOB_BLOCKS 1024         /* maximum blocks in a job of data; bounds the
                                 * leaves of tiny blocks */
#define JOB_ZEROS 65536         /* a run of fewer zero blocks can be extended;
                                 * folding this many takes about 1 ms */

/* The bytes are aligned, because memcpy to unaligned memory is half as fast on
 * Zen 4.
 */
struct copy_buffer {
  struct copy_buffer *next;
  alignas (64) unsigned char bytes[];
};

struct job {
  struct pool_task task;        /* must be first */
  struct pipeline *pipeline;
  struct copy_buffer *copy;     /* NULL if the data was not copied */
  const unsigned char *data;
  size_t len;                   /* bytes of data; 0 in a run of zeros */
  uint64_t zeros;               /* number of zero blocks; 0 in a job of data */
  unsigned char *leaves;        /* allocated from submit to fold */
  void (*done_cb) (void *opaque, int error);
  void *opaque;

  /* Protected by pipeline->lock from submission until DONE is set.  The thread
   * that runs the job sets both fields, and then does not access the job again.
   */
  bool done;
  int error;
};

struct pipeline {
  struct leaf_engine *engine;
  struct outer *outer;
  struct pool *pool;
  size_t block_size, leaf_size; /* bytes */
  size_t job_bytes, copy_bytes; /* maximum LEN of a job without and with COPY;
                                 * multiples of block_size */

  /* Used only by the appending thread. */
  int error;                    /* the first error */
  struct job *filling;          /* the newest job, while bytes are copied to it,
                                 * or NULL */
  struct copy_buffer *spare;    /* free buffers for copies */
  unsigned copies_left;         /* buffers that may still be allocated */
  unsigned head, count, slots;  /* oldest job, jobs in use, jobs in RING */
  struct job *ring;

  pthread_mutex_t lock;         /* protects DONE and ERROR of submitted jobs */
  pthread_cond_t job_done;      /* signaled when a job is done */
};

/* Returns the number of blocks in LEN bytes, the last of which may be short. */
static size_t
blocks_in (const struct pipeline *pipeline, size_t len)
{
  return DIV_ROUND_UP (len, pipeline->block_size);
}

/* ---- In a thread of the pool ----
 *
 * A job hashes data to leaves, in a thread of the pool, or in the appending
 * thread if no thread can be started.  It belongs to the thread that runs it,
 * until that thread marks it done under the pipeline's lock.
 */

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
pipeline_pool_create (unsigned threads, uint32_t block_size)
{
  return pool_create (threads, MAX (TASK_BYTES / block_size, LEAF_GROUP),
                      run_jobs);
}

/* ---- In the appending thread ---- */

static int
fail (struct pipeline *pipeline, int err)
{
  if (pipeline->error == 0)
    pipeline->error = err;
  return pipeline->error;
}

static bool
head_is_done (struct pipeline *pipeline, bool wait)
{
  struct job *job = &pipeline->ring[pipeline->head];
  SCOPED_LOCK (&pipeline->lock);

  while (wait && !job->done)
    pthread_cond_wait (&pipeline->job_done, &pipeline->lock);
  return job->done;
}

static void
fold_head (struct pipeline *pipeline)
{
  struct job *job = &pipeline->ring[pipeline->head];
  int err = job->error;

  if (err == 0 && pipeline->error == 0) {
    if (job->zeros)
      err = outer_zeros (pipeline->outer, job->zeros);
    else
      err = outer_leaves (pipeline->outer, job->leaves,
                          blocks_in (pipeline, job->len));
  }
  if (err)
    fail (pipeline, err);
  free (job->leaves);
  job->leaves = NULL;
  if (job->copy) {
    job->copy->next = pipeline->spare;
    pipeline->spare = job->copy;
    job->copy = NULL;
  }
  pipeline->head = (pipeline->head + 1) % pipeline->slots;
  pipeline->count--;
}

static struct job *
new_job (struct pipeline *pipeline)
{
  struct job *job;

  while (pipeline->count > 0 &&
         head_is_done (pipeline, pipeline->count == pipeline->slots))
    fold_head (pipeline);

  job = &pipeline->ring[(pipeline->head + pipeline->count) % pipeline->slots];
  pipeline->count++;
  job->pipeline = pipeline;
  job->len = 0;
  job->zeros = 0;
  job->done_cb = NULL;
  job->error = 0;
  job->done = false;
  return job;
}

static int
submit_job (struct pipeline *pipeline, struct job *job)
{
  size_t blocks = blocks_in (pipeline, job->len);

  /* + 1: the leaves of the digest null have no bytes, but malloc (0) can return
   * NULL.
   */
  job->leaves = malloc (blocks * pipeline->leaf_size + 1);
  if (!job->leaves) {
    job->error = ENOMEM;
    job->done = true;
    return fail (pipeline, ENOMEM);
  }
  job->task.weight = blocks;
  pool_submit (pipeline->pool, &job->task);
  return pipeline->error;
}

static int
flush_copies (struct pipeline *pipeline)
{
  struct job *job = pipeline->filling;

  if (!job)
    return pipeline->error;
  pipeline->filling = NULL;
  return submit_job (pipeline, job);
}

/* Get a buffer for copies, a spare or a new one.  If all are in use, wait for
 * the oldest jobs until a buffer is released.
 */
static struct copy_buffer *
new_buffer (struct pipeline *pipeline)
{
  struct copy_buffer *buffer;

  while (!pipeline->spare && pipeline->copies_left == 0) {
    head_is_done (pipeline, true);
    fold_head (pipeline);
  }
  if (pipeline->spare) {
    buffer = pipeline->spare;
    pipeline->spare = buffer->next;
    return buffer;
  }
  if (posix_memalign ((void **) &buffer, alignof (struct copy_buffer),
                      sizeof *buffer + pipeline->copy_bytes) != 0)
    buffer = NULL;
  if (buffer)
    pipeline->copies_left--;
  else
    fail (pipeline, ENOMEM);
  return buffer;
}

static int
start_filling (struct pipeline *pipeline)
{
  struct copy_buffer *buffer = new_buffer (pipeline);
  struct job *job;

  if (!buffer)
    return pipeline->error;
  job = new_job (pipeline);
  job->copy = buffer;
  job->data = buffer->bytes;
  pipeline->filling = job;
  return 0;
}

int
pipeline_copy (struct pipeline *pipeline, const unsigned char *buf, size_t len)
{
  while (len > 0) {
    struct job *job;
    size_t n;

    if (!pipeline->filling && start_filling (pipeline) != 0)
      return pipeline->error;
    job = pipeline->filling;
    n = MIN (len, pipeline->copy_bytes - job->len);
    if (buf) {
      memcpy (job->copy->bytes + job->len, buf, n);
      buf += n;
    }
    else
      memset (job->copy->bytes + job->len, 0, n);
    job->len += n;
    len -= n;
    if (job->len == pipeline->copy_bytes && flush_copies (pipeline) != 0)
      return pipeline->error;
  }
  return pipeline->error;
}

size_t
pipeline_partial (const struct pipeline *pipeline)
{
  return pipeline->filling ? pipeline->filling->len % pipeline->block_size : 0;
}

size_t
pipeline_data_jobs (const struct pipeline *pipeline, size_t len)
{
  return DIV_ROUND_UP (len, pipeline->job_bytes);
}

int
pipeline_data (struct pipeline *pipeline, const void *buf, size_t len,
               void (*done) (void *opaque, int error), void *opaque)
{
  const unsigned char *data = buf;
  int err;

  assert (pipeline_partial (pipeline) == 0 && len % pipeline->block_size == 0);
  err = flush_copies (pipeline);

  while (len > 0 && err == 0) {
    size_t n = MIN (len, pipeline->job_bytes);
    struct job *job = new_job (pipeline);

    job->data = data;
    job->len = n;
    job->done_cb = done;
    job->opaque = opaque;
    err = submit_job (pipeline, job);
    data += n;
    len -= n;
  }
  return err;
}

int
pipeline_zeros (struct pipeline *pipeline, uint64_t count)
{
  struct job *job;
  int err;

  assert (pipeline_partial (pipeline) == 0);
  err = flush_copies (pipeline);
  if (err || count == 0)
    return err;

  if (pipeline->count > 0) {
    job = &pipeline->ring[(pipeline->head + pipeline->count - 1) %
                          pipeline->slots];
    /* Extend only a short run: if all runs were merged, a caller that appends
     * only holes would leave all folding to the end.
     */
    if (job->zeros && job->zeros < JOB_ZEROS) {
      job->zeros += count;
      return 0;
    }
  }
  job = new_job (pipeline);
  job->zeros = count;
  job->done = true;
  return 0;
}

int
pipeline_finish (struct pipeline *pipeline)
{
  flush_copies (pipeline);
  while (pipeline->count > 0) {
    head_is_done (pipeline, true);
    fold_head (pipeline);
  }
  return pipeline->error;
}

/* Returns the number of bytes of the blocks that fit in BYTES, limited to at
 * least one block and at most JOB_BLOCKS.
 */
static size_t
whole_blocks (size_t bytes, uint32_t block_size)
{
  size_t blocks = MAX (bytes / block_size, 1);

  return MIN (blocks, JOB_BLOCKS) * block_size;
}

struct pipeline *
pipeline_create (struct leaf_engine *engine, struct outer *outer,
                 struct pool *pool, uint32_t block_size, size_t leaf_size,
                 unsigned threads, unsigned depth)
{
  struct pipeline *pipeline = calloc (1, sizeof *pipeline);
  size_t copy_bytes = COPIES / (threads + 2);

  if (!pipeline)
    return NULL;
  pipeline->engine = engine;
  pipeline->outer = outer;
  pipeline->pool = pool;
  pipeline->block_size = block_size;
  pipeline->leaf_size = leaf_size;
  pipeline->job_bytes = whole_blocks (JOB_BYTES, block_size);
  pipeline->copy_bytes = whole_blocks (MIN (copy_bytes, JOB_BYTES), block_size);
  pipeline->copies_left = MIN (threads + 2, COPIES / pipeline->copy_bytes);
  pipeline->slots = 2 * threads + 2 + depth;
  pipeline->ring = calloc (pipeline->slots, sizeof *pipeline->ring);
  if (!pipeline->ring) {
    free (pipeline);
    return NULL;
  }
  pthread_mutex_init (&pipeline->lock, NULL);
  pthread_cond_init (&pipeline->job_done, NULL);
  return pipeline;
}

void
pipeline_free (struct pipeline *pipeline)
{
  struct copy_buffer *buffer;
  unsigned i;

  if (!pipeline)
    return;
  for (i = 0; i < pipeline->slots; i++) {
    free (pipeline->ring[i].copy);
    free (pipeline->ring[i].leaves);
  }
  while ((buffer = pipeline->spare)) {
    pipeline->spare = buffer->next;
    free (buffer);
  }
  pthread_cond_destroy (&pipeline->job_done);
  pthread_mutex_destroy (&pipeline->lock);
  free (pipeline->ring);
  free (pipeline);
}
