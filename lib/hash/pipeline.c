/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hash the blocks of an image in parallel, and fold their leaves in order.
 *
 * The ring contains, oldest first, jobs that are being hashed, and runs of zero
 * blocks, which need no hashing.  Its last job may still be receiving copied
 * bytes.  The size of the ring limits the memory: an append waits for the
 * oldest job if the ring is full.  All of this runs in the appending thread.
 *
 * Rejected: a leaf table, which also hashes blocks and folds their leaves,
 * instead of the leaves of a job and the fold here.  The ring, the copies and
 * the pool would remain, because the limit on memory requires waiting for the
 * oldest job; the leaf table would only add a tree, a lock that threads share,
 * and 80 lines.  It is slower where a block needs little hashing.  "ratio" is
 * the bytes per CPU second with the leaf table, divided by those without it, of
 * blkhash-bench --aio --streams 0: medians of 31 alternating runs, on a busy
 * AMD EPYC (family 23, model 1) with 2 CPUs.  "noise" is the same ratio of one
 * half of the runs without it to the other half.
 *
 *   digest, block size, threads    ratio     noise
 *   sha256, 64 KiB, 2              1.01      0.96
 *   sha256, 4 KiB, 2               0.98      0.98
 *   sha256, 512 bytes, 2           0.96      0.99
 *   sha256, 64 bytes, 16           0.94      0.99
 *   sha256, 4 KiB of zeros, 2      0.89      1.04
 *   null, 4 KiB, 2                 0.86      1.17
 *
 * In this measurement the appending thread folds.  If threads of the pool fold,
 * as in a leaf table, a request after a hole of 4 TiB completes after 6 s
 * instead of 0.1 s.  If each hole is passed to the table in a separate call,
 * holes of 64 KiB take 12 times as long.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"
#include "construction/outer.h"
#include "hash/pipeline-private.h"
#include "hash/pipeline.h"
#include "hash/pool.h"

#define JOB_BYTES (2u << 20)    /* bytes of data in a job, if blocks are not
                                 * larger */
#define COPIES (48u << 20)      /* bytes of all buffers for copies together */
#define JOB_BLOCKS 1024         /* in a job of data: bounds the leaves of tiny
                                 * blocks */
#define JOB_ZEROS 65536         /* a run of fewer zero blocks can be extended;
                                 * about a millisecond to fold */

static int
fail (struct order *order, int err)
{
  if (order->error == 0)
    order->error = err;
  return order->error;
}

static bool
head_is_done (struct order *order, bool wait)
{
  struct job *job = &order->ring[order->head];
  SCOPED_LOCK (&order->lock);

  while (wait && !job->done)
    pthread_cond_wait (&order->job_done, &order->lock);
  return job->done;
}

static void
fold_head (struct order *order)
{
  struct job *job = &order->ring[order->head];
  int err = job->error;

  if (err == 0 && order->error == 0) {
    if (job->zeros)
      err = outer_zeros (order->outer, job->zeros);
    else
      err = outer_leaves (order->outer, job->leaves,
                          order_blocks_in (order, job->len));
  }
  if (err)
    fail (order, err);
  free (job->leaves);
  job->leaves = NULL;
  if (job->copy) {
    job->copy->next = order->spare;
    order->spare = job->copy;
    job->copy = NULL;
  }
  order->head = (order->head + 1) % order->slots;
  order->count--;
}

static struct job *
new_job (struct order *order)
{
  struct job *job;

  while (order->count > 0 &&
         head_is_done (order, order->count == order->slots))
    fold_head (order);

  job = &order->ring[(order->head + order->count) % order->slots];
  order->count++;
  job->order = order;
  job->len = 0;
  job->zeros = 0;
  job->done_cb = NULL;
  job->error = 0;
  job->done = false;
  return job;
}

static int
submit_job (struct order *order, struct job *job)
{
  size_t blocks = order_blocks_in (order, job->len);

  /* + 1: leaves can have no bytes, and malloc of 0 may be NULL. */
  job->leaves = malloc (blocks * order->leaf_size + 1);
  if (!job->leaves) {
    job->error = ENOMEM;
    job->done = true;
    return fail (order, ENOMEM);
  }
  job->task.weight = blocks;
  pool_submit (order->pool, &job->task);
  return order->error;
}

static int
flush_copies (struct order *order)
{
  struct job *job = order->filling;

  if (!job)
    return order->error;
  order->filling = NULL;
  return submit_job (order, job);
}

/* Get a buffer for copies, a spare or a new one.  If all are in use, wait for
 * the oldest jobs until one is released.
 */
static struct buffer *
new_buffer (struct order *order)
{
  struct buffer *buffer;

  while (!order->spare && order->copies_left == 0) {
    head_is_done (order, true);
    fold_head (order);
  }
  if (order->spare) {
    buffer = order->spare;
    order->spare = buffer->next;
    return buffer;
  }
  if (posix_memalign ((void **) &buffer, alignof (struct buffer),
                      sizeof *buffer + order->copy_bytes) != 0)
    buffer = NULL;
  if (buffer)
    order->copies_left--;
  else
    fail (order, ENOMEM);
  return buffer;
}

static int
start_filling (struct order *order)
{
  struct buffer *buffer = new_buffer (order);
  struct job *job;

  if (!buffer)
    return order->error;
  job = new_job (order);
  job->copy = buffer;
  job->data = buffer->bytes;
  order->filling = job;
  return 0;
}

/* Append LEN bytes of BUF, or zeros if BUF is NULL. */
static int
fill (struct order *order, const unsigned char *buf, size_t len)
{
  while (len > 0) {
    struct job *job;
    size_t n;

    if (!order->filling && start_filling (order) != 0)
      return order->error;
    job = order->filling;
    n = order->copy_bytes - job->len;
    if (n > len)
      n = len;
    if (buf) {
      memcpy (job->copy->bytes + job->len, buf, n);
      buf += n;
    }
    else
      memset (job->copy->bytes + job->len, 0, n);
    job->len += n;
    len -= n;
    if (job->len == order->copy_bytes && flush_copies (order) != 0)
      return order->error;
  }
  return order->error;
}

int
order_copy (struct order *order, const void *buf, size_t len)
{
  return fill (order, buf, len);
}

int
order_copy_zeros (struct order *order, size_t len)
{
  return fill (order, NULL, len);
}

size_t
order_partial (const struct order *order)
{
  return order->filling ? order->filling->len % order->block_size : 0;
}

size_t
order_data_jobs (const struct order *order, size_t len)
{
  return DIV_ROUND_UP (len, order->job_bytes);
}

int
order_data (struct order *order, const void *buf, size_t len,
            void (*done) (void *opaque, int error), void *opaque)
{
  const unsigned char *data = buf;
  int err;

  assert (order_partial (order) == 0 && len % order->block_size == 0);
  err = flush_copies (order);

  while (len > 0 && err == 0) {
    size_t n = MIN (len, order->job_bytes);
    struct job *job = new_job (order);

    job->data = data;
    job->len = n;
    job->done_cb = done;
    job->opaque = opaque;
    err = submit_job (order, job);
    data += n;
    len -= n;
  }
  return err;
}

int
order_zeros (struct order *order, uint64_t count)
{
  struct job *job;
  int err;

  assert (order_partial (order) == 0);
  err = flush_copies (order);
  if (err || count == 0)
    return err;

  if (order->count > 0) {
    job = &order->ring[(order->head + order->count - 1) % order->slots];
    /* Extend only a short run: if all runs were merged, a caller that appends
     * only holes would leave all folding to the end.
     */
    if (job->zeros && job->zeros < JOB_ZEROS) {
      job->zeros += count;
      return 0;
    }
  }
  job = new_job (order);
  job->zeros = count;
  job->done = true;
  return 0;
}

int
order_finish (struct order *order)
{
  flush_copies (order);
  while (order->count > 0) {
    head_is_done (order, true);
    fold_head (order);
  }
  return order->error;
}

/* Returns the size of as many blocks as fit in BYTES bytes, at least one. */
static size_t
whole_blocks (size_t bytes, uint32_t block_size)
{
  size_t blocks = bytes / block_size;

  if (blocks == 0)
    blocks = 1;
  if (blocks > JOB_BLOCKS)
    blocks = JOB_BLOCKS;
  return blocks * block_size;
}

struct order *
order_create (struct leaf_engine *engine, struct outer *outer,
              struct pool *pool, uint32_t block_size, size_t leaf_size,
              unsigned threads, unsigned depth)
{
  struct order *order = calloc (1, sizeof *order);
  size_t copy_bytes = COPIES / (threads + 2);

  if (!order)
    return NULL;
  order->engine = engine;
  order->outer = outer;
  order->pool = pool;
  order->block_size = block_size;
  order->leaf_size = leaf_size;
  order->job_bytes = whole_blocks (JOB_BYTES, block_size);
  order->copy_bytes = whole_blocks (copy_bytes < JOB_BYTES ? copy_bytes
                                                           : JOB_BYTES,
                                    block_size);
  order->copies_left = threads + 2;
  if (order->copies_left > COPIES / order->copy_bytes)
    order->copies_left = COPIES / order->copy_bytes;
  order->slots = 2 * threads + 2 + depth;
  order->ring = calloc (order->slots, sizeof *order->ring);
  if (!order->ring) {
    free (order);
    return NULL;
  }
  pthread_mutex_init (&order->lock, NULL);
  pthread_cond_init (&order->job_done, NULL);
  return order;
}

void
order_free (struct order *order)
{
  struct buffer *buffer;
  unsigned i;

  if (!order)
    return;
  for (i = 0; i < order->slots; i++) {
    free (order->ring[i].copy);
    free (order->ring[i].leaves);
  }
  while ((buffer = order->spare)) {
    order->spare = buffer->next;
    free (buffer);
  }
  pthread_cond_destroy (&order->job_done);
  pthread_mutex_destroy (&order->lock);
  free (order->ring);
  free (order);
}
