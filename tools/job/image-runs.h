/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hash an image: read it into a leaf table, which computes the sum; or get its
 * leaves from an iterator, while the image is being hashed.  This is the only
 * iterator with threads.
 *
 * The leaf table of an iterator passes its leaves to a sink, a few at a time,
 * in a thread that adds blocks or calls blkhash_leaves_fold.  The sink copies
 * them into a batch.  Waking the consumer for each call would take as long as
 * hashing the blocks, so the consumer sleeps until the batch has many leaves.
 * The sleep has a short timeout, because a pipe may stall, and results before
 * the stall must be reported.
 *
 * The hashing threads can be two batches ahead of the consumer; then they wait.
 * Each image has its own batches and threads, because two images that are
 * compared could deadlock if they shared these.  In a group, an error of one
 * image stops the hashing of the other image, which may be waiting for a
 * stalled pipe.
 */

#ifndef BLKSUM_IMAGE_RUNS_H
#define BLKSUM_IMAGE_RUNS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "../lib/manifest/manifest-diff.h"
#include "job/job.h"
#include "read/scan.h"
#include "util/error.h"

struct blkhash_leaves;
struct source;

/* Read the image of SOURCE into the table LEAVES, and fold it (see
 * blkhash_leaves_fold).  Stores in SUM the format, the numbers of bytes, the
 * digest if the table computes one, and those of the content that the request
 * asks for, but not the hash options.  Returns 0;
 * or -1 with the reason, for example that the image changed while it was read.
 * There is no reason if request->stopped returned true.  After -1 SOURCE can
 * only be closed.
 */
int image_table_fill (struct source *source, struct blkhash_leaves *leaves,
                      const struct scan_request *request, struct sum *sum,
                      struct error *error);

/* ---- The iterator ---- */

struct image_batch;
struct image_runs;

/* Two images that are compared with each other, and hashed at the same time. */
struct image_group {
  pthread_mutex_t lock;         /* protects the fields below; taken before the
                                 * lock of a member */
  struct image_runs *members[2]; /* open members, or NULL */
  bool failed;                  /* a member failed */
};

void image_group_init (struct image_group *group);
void image_group_destroy (struct image_group *group);

struct image_runs {
  struct leaf_runs runs;

  /* Set once. */
  struct source *source;
  struct scan_request request;
  struct image_group *group;    /* or NULL */
  struct error *error;          /* receives the reason */
  struct blkhash_leaves *leaves;
  pthread_t thread;

  /* Used by the consumer only. */
  struct image_batch *front;
  size_t taken;                 /* number of runs of FRONT that were returned */

  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t has_leaves, has_room; /* BACK has leaves, or room for more */
  struct image_batch *back;     /* filled by the sink of LEAVES; becomes
                                 * FRONT */
  bool closed;                  /* no more leaves are needed */
  bool ended;                   /* the thread adds no more leaves, and has set
                                 * the two fields below */
  struct error reason;          /* why hashing failed, or empty; not set if
                                 * CLOSED was set before */
  struct sum sum;               /* set by image_table_fill; complete after the
                                 * iterator has returned ENOENT */
};

/* Start to hash the image of SOURCE, as a member of GROUP unless it is NULL.
 * The iterator has a copy of *REQUEST, with its own STOPPED function.  SOURCE,
 * GROUP, ERROR and what the members of REQUEST point to must outlive the
 * iterator.  Returns 0, or -1 with the reason in ERROR; then there is nothing
 * to close.
 *
 * If the image cannot be read, the iterator returns ECANCELED.  The reason is
 * stored in ERROR, unless ERROR is already set, at the latest when
 * image_runs_close returns.  If the other member of the group failed, the
 * iterator returns ECANCELED without a reason.
 */
int image_runs_open (struct image_runs *iter, struct source *source,
                     const struct scan_request *request,
                     struct image_group *group, struct error *error);

/* Stop and free the iterator, which need not have reached its end.  If the
 * image is still being read, the source stops at its next call of
 * request.stopped.
 */
void image_runs_close (struct image_runs *iter);

#endif /* BLKSUM_IMAGE_RUNS_H */
