/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves of an image as an iterator, while the image is being hashed.
 *
 * The leaf table passes its leaves to a sink, a few at a time, in a thread that
 * adds blocks or folds the table.  The sink copies them into a batch.  Waking
 * the consumer for each call would take as long as hashing the blocks, so the
 * consumer sleeps until the batch has many leaves.  The sleep has a short
 * timeout, because a pipe may stall, and results before the stall must be
 * reported.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"

#include "../lib/common/cleanup.h"
#include "../lib/common/deadline.h"
#include "../lib/common/numbers.h"
#include "leaves/image-runs.h"
#include "source/source.h"

#define MAX_RUNS 1024           /* in a batch */
#define MAX_BYTES (128 * 1024)  /* of leaves in a batch */
#define BATCH_TIMEOUT (DEADLINE_SECOND / 50) /* limit of the wait for a larger
                                              * batch */

struct image_batch {
  size_t count;                 /* runs */
  size_t used;                  /* number of used bytes of LEAVES */
  struct blkhash_manifest_run runs[MAX_RUNS];
  unsigned char leaves[MAX_BYTES];
};

/* ---- A group ---- */

void
image_group_init (struct image_group *group)
{
  *group = (struct image_group) { .failed = false };
  pthread_mutex_init (&group->lock, NULL);
}

void
image_group_destroy (struct image_group *group)
{
  pthread_mutex_destroy (&group->lock);
}

/* Stop hashing, because no more leaves are needed, and wake the threads that
 * wait.
 */
static void
stop (struct image_runs *image)
{
  SCOPED_LOCK (&image->lock);

  image->closed = true;
  pthread_cond_signal (&image->has_room);
  pthread_cond_signal (&image->has_leaves);
}

static void
join_group (struct image_runs *image)
{
  struct image_group *group = image->group;
  SCOPED_LOCK (&group->lock);

  group->members[group->members[0] != NULL] = image;
  if (group->failed)
    stop (image);
}

static void
leave_group (struct image_runs *image)
{
  struct image_group *group = image->group;
  SCOPED_LOCK (&group->lock);

  group->members[group->members[0] != image] = NULL;
}

/* IMAGE failed: stop the other member. */
static void
group_failed (struct image_group *group, const struct image_runs *image)
{
  int i;
  SCOPED_LOCK (&group->lock);

  group->failed = true;
  for (i = 0; i < 2; i++)
    if (group->members[i] && group->members[i] != image)
      stop (group->members[i]);
}

/* ---- A batch ---- */

static bool
is_worth_waking (const struct image_batch *batch)
{
  return batch->used >= MAX_BYTES / 4 || batch->count >= MAX_RUNS / 4;
}

/* Returns the run of the batch to extend: the last run if both are data or both
 * are zeros; otherwise a new one.  Returns NULL if the batch is full.
 */
static struct blkhash_manifest_run *
find_run (struct image_batch *batch, uint64_t first, bool data)
{
  struct blkhash_manifest_run *run;

  if (batch->count > 0) {
    run = &batch->runs[batch->count - 1];
    if (!run->leaves == !data)
      return run;
  }
  if (batch->count == MAX_RUNS)
    return NULL;
  run = &batch->runs[batch->count];
  *run = (struct blkhash_manifest_run) { .first = first };
  if (data)
    run->leaves = batch->leaves + batch->used;
  return run;
}

/* Move as much of RUN into the batch as there is room for.  Leaves of the
 * digest null have no length.
 */
static void
add_to_batch (struct image_batch *batch, struct blkhash_manifest_run *run)
{
  struct blkhash_manifest_run *to =
    find_run (batch, run->first, run->leaves != NULL);
  uint64_t count = run->count;

  if (!to)
    return;
  if (run->leaves && run->leaf_size > 0) {
    count = MIN (count, (MAX_BYTES - batch->used) / run->leaf_size);
    if (count == 0)
      return;
    memcpy (batch->leaves + batch->used, run->leaves, count * run->leaf_size);
    batch->used += count * run->leaf_size;
    to->leaf_size = run->leaf_size;
  }
  to->count += count;
  batch->count = to - batch->runs + 1;
  leaf_run_skip (run, count);
}

/* ---- The sink ---- */

/* Returns 0, or ECANCELED. */
static int
add_run (struct image_runs *image, struct blkhash_manifest_run run)
{
  SCOPED_LOCK (&image->lock);

  while (!image->closed) {
    struct image_batch *back = image->back;
    bool was_empty = back->count == 0, was_worth = is_worth_waking (back);

    add_to_batch (back, &run);
    if (was_empty || (!was_worth && is_worth_waking (back)))
      pthread_cond_signal (&image->has_leaves);
    if (run.count == 0)
      return 0;
    pthread_cond_wait (&image->has_room, &image->lock);
  }
  return ECANCELED;
}

static int
add_data (void *opaque, uint64_t index, size_t count,
          const unsigned char *leaves, size_t leaf_size)
{
  return add_run (opaque, (struct blkhash_manifest_run) {
    .first = index, .count = count, .leaves = leaves, .leaf_size = leaf_size
  });
}

static int
add_zeros (void *opaque, uint64_t index, uint64_t count)
{
  return add_run (opaque, (struct blkhash_manifest_run) {
    .first = index, .count = count
  });
}

static bool
is_closed (void *opaque)
{
  struct image_runs *image = opaque;
  SCOPED_LOCK (&image->lock);

  return image->closed;
}

/* ---- The thread ---- */

static uint64_t
table_size (const struct image_runs *image)
{
  const struct image_request *request = &image->request;
  uint64_t size = image->source->size;

  return size == SOURCE_SIZE_UNKNOWN || !request->table_size
    ? size : request->table_size (request->opaque, size);
}

static void
fill_table (struct image_runs *image, struct sum *sum, struct error *error)
{
  uint64_t size = image->source->size;
  int err = 0;

  if (size != SOURCE_SIZE_UNKNOWN)
    err = blkhash_leaves_zero (image->leaves, table_size (image) - size, size);
  if (err)
    error_errno (error, err, "cannot hash");
  else if (image_table_fill (image->source, image->leaves, &image->request,
                             sum, error) == -1)
    error_set (error, "cannot hash");   /* has no effect if there already is a
                                         * reason */
}

/* An error after the image was stopped is only a consequence of that, so it is
 * not stored.
 */
static bool
end (struct image_runs *image, const struct sum *sum,
     const struct error *error)
{
  SCOPED_LOCK (&image->lock);

  if (!image->closed)
    image->reason = *error;
  image->sum = *sum;
  image->ended = true;
  pthread_cond_signal (&image->has_leaves);
  return error_is_set (&image->reason);
}

static void *
run (void *opaque)
{
  struct image_runs *image = opaque;
  struct error error = { "" };
  struct sum sum = { .hash = NULL };

  fill_table (image, &sum, &error);
  if (end (image, &sum, &error) && image->group)
    group_failed (image->group, image);
  return NULL;
}

/* ---- The consumer ---- */

/* Store the reason, unless the consumer already has another one. */
static void
copy_reason (const struct image_runs *image)
{
  if (error_is_set (&image->reason) && !error_is_set (image->error))
    *image->error = image->reason;
}

static bool
has_ended_locked (const struct image_runs *image)
{
  return image->ended || image->closed;
}

static void
wait_locked (struct image_runs *image)
{
  struct timespec deadline;
  int r = 0;

  while (image->back->count == 0 && !has_ended_locked (image))
    pthread_cond_wait (&image->has_leaves, &image->lock);
  if (has_ended_locked (image) || is_worth_waking (image->back))
    return;
  deadline = deadline_in (BATCH_TIMEOUT);
  while (!is_worth_waking (image->back) && !has_ended_locked (image) && r == 0)
    r = deadline_wait (&image->has_leaves, &image->lock, &deadline);
}

/* Get the next batch.  Returns 0; ENOENT at the end of the image; or ECANCELED
 * on error, or if the iterator was closed.
 */
static int
swap_batches (struct image_runs *image)
{
  SCOPED_LOCK (&image->lock);
  struct image_batch *empty = image->front;

  wait_locked (image);
  if (image->back->count == 0) {
    if (image->closed)
      return ECANCELED;
    copy_reason (image);
    return error_is_set (&image->reason) ? ECANCELED : ENOENT;
  }
  image->front = image->back;
  image->taken = 0;
  empty->count = empty->used = 0;
  image->back = empty;
  pthread_cond_signal (&image->has_room);
  return 0;
}

static int
next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct image_runs *image = (struct image_runs *) runs;
  int err = image->taken == image->front->count ? swap_batches (image) : 0;

  if (err == 0)
    *run = image->front->runs[image->taken++];
  return err;
}

/* ---- Open and close ---- */

static int
start (struct image_runs *image)
{
  const struct blkhash_leaf_sink sink = {
    .data = add_data, .zero = add_zeros, .opaque = image
  };
  int err;

  image->front = calloc (1, sizeof *image->front);
  image->back = calloc (1, sizeof *image->back);
  image->leaves = blkhash_leaves_new (image->request.opts, table_size (image),
                                      BLKHASH_LEAVES_ONCE |
                                      BLKHASH_LEAVES_NO_SUM);
  if (!image->front || !image->back || !image->leaves)
    return errno;
  err = blkhash_leaves_set_sink (image->leaves, &sink);
  return err ? err : pthread_create (&image->thread, NULL, run, image);
}

static void
destroy (struct image_runs *image)
{
  if (image->group)
    leave_group (image);
  blkhash_leaves_free (image->leaves);
  free (image->front);
  free (image->back);
  pthread_cond_destroy (&image->has_room);
  pthread_cond_destroy (&image->has_leaves);
  pthread_mutex_destroy (&image->lock);
}

int
image_runs_open (struct image_runs *image, struct source *source,
                 const struct image_request *request,
                 struct image_group *group, struct error *error)
{
  int err;

  *image = (struct image_runs) {
    .runs.next = next, .source = source, .request = *request, .group = group,
    .error = error
  };
  image->request.stopped = is_closed;
  image->request.stopped_opaque = image;
  pthread_mutex_init (&image->lock, NULL);
  deadline_cond_init (&image->has_leaves);
  pthread_cond_init (&image->has_room, NULL);
  if (group)
    join_group (image);
  err = start (image);
  if (err == 0)
    return 0;
  destroy (image);
  return error_errno (error, err, "cannot hash");
}

void
image_runs_close (struct image_runs *image)
{
  stop (image);
  pthread_join (image->thread, NULL);
  copy_reason (image);
  destroy (image);
}
