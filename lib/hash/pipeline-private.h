/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The internals of a pipeline.  pipeline.c runs in the appending thread.  The
 * jobs of pipeline-job.c run in the threads of the pool, or in the appending
 * thread if no thread can be started.
 */

#ifndef BLKHASH_PIPELINE_PRIVATE_H
#define BLKHASH_PIPELINE_PRIVATE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/numbers.h"
#include "hash/pool.h"

struct leaf_engine;
struct pipeline;
struct outer;

/* The bytes are aligned, because memcpy to unaligned memory is half as fast on
 * Zen 4.
 */
struct buffer {
  struct buffer *next;
  alignas (64) unsigned char bytes[];
};

struct job {
  struct pool_task task;        /* must be first */
  struct pipeline *pipeline;
  struct buffer *copy;          /* NULL if the data was not copied */
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
  struct buffer *spare;         /* free buffers for copies */
  unsigned copies_left;         /* buffers that may still be allocated */
  unsigned head, count, slots;  /* oldest job, jobs in use, jobs in RING */
  struct job *ring;

  pthread_mutex_t lock;         /* protects DONE and ERROR of submitted jobs */
  pthread_cond_t job_done;      /* signaled when a job is done */
};

/* Returns the number of blocks in LEN bytes, the last of which may be short. */
static inline size_t
pipeline_blocks_in (const struct pipeline *pipeline, size_t len)
{
  return DIV_ROUND_UP (len, pipeline->block_size);
}

#endif /* BLKHASH_PIPELINE_PRIVATE_H */
