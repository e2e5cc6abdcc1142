/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/clock.h"
#include "../lib/common/util.h"
#include "blkhash.h"
#include "job/image-runs.h"
#include "job/job.h"
#include "read/content.h"
#include "read/scan.h"
#include "source/source.h"
#include "util/error.h"
#include "util/progress.h"

/* ---- The table ---- */

_Static_assert (SOURCE_SIZE_UNKNOWN == BLKHASH_SIZE_UNKNOWN &&
                SOURCE_SIZE_UNKNOWN == PROGRESS_NO_SIZE,
                "a size that is not known is the same everywhere");

/* Fold the complete table. */
static int
fold (struct blkhash_leaves *leaves, const struct scan *scan, struct sum *sum,
      struct error *error)
{
  uint64_t data, zero;
  int err = blkhash_leaves_fold (leaves, sum->md, &sum->md_len);

  if (err)
    return error_errno (error, err, "cannot hash");
  blkhash_leaves_count (leaves, &data, &zero);
  sum->size = data + zero;
  sum->data = data;
  sum->zero = zero - scan->hole;
  sum->hole = scan->hole;
  sum->read = scan->read;
  return 0;
}

int
image_table_fill (struct source *source, struct blkhash_leaves *leaves,
                  const struct scan_request *request, struct sum *sum,
                  struct error *error)
{
  struct scan scan;
  int r;

  scan_init (&scan, leaves, blkhash_opts_get_block_size (request->opts));
  scan.request = *request;
  scan.first = &source->first;
  /* If an empty image is padded, there is nothing to read: the table has only
   * the padding, which the caller has set.
   */
  r = request->padding.to_unit > 0 && source->size == 0
    ? 0 : source_scan (source, &scan);
  if (r == -1)
    error_copy (error, &scan.error);
  else if (fold (leaves, &scan, sum, error) == -1 ||
           (request->content &&
            content_finish (request->content, sum->size, &sum->content,
                            error) == -1) ||
           source_check_unchanged (source, error) == -1)
    r = -1;
  memcpy (sum->format, source->format, sizeof sum->format);
  sum->first = source->first;
  scan_destroy (&scan);
  return r;
}

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

/* Request that hashing stops, because no more leaves are needed, and wake the
 * threads that wait.
 */
static void
stop (struct image_runs *iter)
{
  SCOPED_LOCK (&iter->lock);

  iter->closed = true;
  pthread_cond_signal (&iter->has_room);
  pthread_cond_signal (&iter->has_leaves);
}

static void
join_group (struct image_runs *iter)
{
  struct image_group *group = iter->group;
  SCOPED_LOCK (&group->lock);

  group->members[group->members[0] != NULL] = iter;
  if (group->failed)
    stop (iter);
}

static void
leave_group (struct image_runs *iter)
{
  struct image_group *group = iter->group;
  SCOPED_LOCK (&group->lock);

  group->members[group->members[0] != iter] = NULL;
}

/* ITER failed: stop the other member. */
static void
group_failed (struct image_group *group, const struct image_runs *iter)
{
  int i;
  SCOPED_LOCK (&group->lock);

  group->failed = true;
  for (i = 0; i < 2; i++)
    if (group->members[i] && group->members[i] != iter)
      stop (group->members[i]);
}

/* ---- A batch ---- */

#define MAX_RUNS 1024           /* in a batch */
#define MAX_BYTES (128 * 1024)  /* of leaves in a batch */
#define BATCH_TIMEOUT (NS_PER_SECOND / 50) /* limit of the wait for a larger
                                           * batch */

struct image_batch {
  size_t count;                 /* runs */
  size_t used;                  /* number of used bytes of LEAVES */
  struct blkhash_manifest_run runs[MAX_RUNS];
  unsigned char leaves[MAX_BYTES];
};

static bool
is_worth_waking (const struct image_batch *batch)
{
  return batch->used >= MAX_BYTES / 4 || batch->count >= MAX_RUNS / 4;
}

/* Returns the run to which blocks from FIRST on are to be added.  They are data
 * if DATA is set, and otherwise zeros.  The run is the last one if it is of the
 * same type; otherwise a new one, or NULL if the batch has no room for it.
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

/* Move as much of RUN into the batch as there is room for.  The rest stays in
 * RUN.  Leaves of the digest null have no length, and take no room.
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

/* Returns 0, or ECANCELED if the iterator was closed. */
static int
add_run (struct image_runs *iter, struct blkhash_manifest_run run)
{
  SCOPED_LOCK (&iter->lock);

  while (!iter->closed) {
    struct image_batch *back = iter->back;
    bool was_empty = back->count == 0, was_worth = is_worth_waking (back);

    add_to_batch (back, &run);
    if (was_empty || (!was_worth && is_worth_waking (back)))
      pthread_cond_signal (&iter->has_leaves);
    if (run.count == 0)
      return 0;
    pthread_cond_wait (&iter->has_room, &iter->lock);
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
  struct image_runs *iter = opaque;
  SCOPED_LOCK (&iter->lock);

  return iter->closed;
}

/* ---- The thread ---- */

static uint64_t
table_size (const struct image_runs *iter)
{
  return padding_add (&iter->request.padding, iter->source->size);
}

static void
fill_table (struct image_runs *iter, struct sum *sum, struct error *error)
{
  uint64_t size = iter->source->size;
  int err = 0;

  if (size != SOURCE_SIZE_UNKNOWN)
    err = blkhash_leaves_zero (iter->leaves, table_size (iter) - size, size);
  if (err)
    error_errno (error, err, "cannot hash");
  else if (image_table_fill (iter->source, iter->leaves, &iter->request,
                             sum, error) == -1)
    error_set (error, "cannot hash");   /* has no effect if there already is a
                                         * reason */
}

/* Store the result of the thread.  An error after stop was called is only a
 * consequence of the stop, and is not stored.  Returns true if an error was
 * stored.
 */
static bool
end (struct image_runs *iter, const struct sum *sum,
     const struct error *error)
{
  SCOPED_LOCK (&iter->lock);

  if (!iter->closed)
    error_copy (&iter->reason, error);
  iter->sum = *sum;
  iter->ended = true;
  pthread_cond_signal (&iter->has_leaves);
  return error_is_set (&iter->reason);
}

static void *
run (void *opaque)
{
  struct image_runs *iter = opaque;
  struct error error = { "" };
  struct sum sum = { .hash = NULL };

  fill_table (iter, &sum, &error);
  if (end (iter, &sum, &error) && iter->group)
    group_failed (iter->group, iter);
  return NULL;
}

/* ---- The consumer ---- */

static bool
has_ended_locked (const struct image_runs *iter)
{
  return iter->ended || iter->closed;
}

static void
wait_locked (struct image_runs *iter)
{
  uint64_t until;
  int r = 0;

  while (iter->back->count == 0 && !has_ended_locked (iter))
    pthread_cond_wait (&iter->has_leaves, &iter->lock);
  if (has_ended_locked (iter) || is_worth_waking (iter->back))
    return;
  until = clock_ns () + BATCH_TIMEOUT;
  while (!is_worth_waking (iter->back) && !has_ended_locked (iter) && r == 0)
    r = clock_cond_wait (&iter->has_leaves, &iter->lock, until);
}

/* Get the next batch.  Returns 0; ENOENT at the end of the image; or ECANCELED
 * on error, or if the iterator was closed.
 */
static int
swap_batches (struct image_runs *iter)
{
  SCOPED_LOCK (&iter->lock);
  struct image_batch *empty = iter->front;

  wait_locked (iter);
  if (iter->back->count == 0) {
    if (iter->closed)
      return ECANCELED;
    error_copy (iter->error, &iter->reason);
    return error_is_set (&iter->reason) ? ECANCELED : ENOENT;
  }
  iter->front = iter->back;
  iter->taken = 0;
  empty->count = empty->used = 0;
  iter->back = empty;
  pthread_cond_signal (&iter->has_room);
  return 0;
}

static int
next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct image_runs *iter = (struct image_runs *) runs;
  int err = iter->taken == iter->front->count ? swap_batches (iter) : 0;

  if (err == 0)
    *run = iter->front->runs[iter->taken++];
  return err;
}

/* ---- Open and close ---- */

static int
start (struct image_runs *iter)
{
  const struct blkhash_leaf_sink sink = {
    .data = add_data, .zero = add_zeros, .opaque = iter
  };
  int err;

  iter->front = calloc (1, sizeof *iter->front);
  iter->back = calloc (1, sizeof *iter->back);
  iter->leaves = blkhash_leaves_new (iter->request.opts, table_size (iter),
                                     BLKHASH_LEAVES_ONCE |
                                     BLKHASH_LEAVES_NO_SUM);
  if (!iter->front || !iter->back || !iter->leaves)
    return errno;
  err = blkhash_leaves_set_sink (iter->leaves, &sink);
  return err ? err : pthread_create (&iter->thread, NULL, run, iter);
}

static void
destroy (struct image_runs *iter)
{
  if (iter->group)
    leave_group (iter);
  blkhash_leaves_free (iter->leaves);
  free (iter->front);
  free (iter->back);
  pthread_cond_destroy (&iter->has_room);
  pthread_cond_destroy (&iter->has_leaves);
  pthread_mutex_destroy (&iter->lock);
}

int
image_runs_open (struct image_runs *iter, struct source *source,
                 const struct scan_request *request,
                 struct image_group *group, struct error *error)
{
  int err;

  *iter = (struct image_runs) {
    .runs.next = next, .source = source, .request = *request, .group = group,
    .error = error
  };
  iter->request.stopped = is_closed;
  iter->request.stopped_opaque = iter;
  pthread_mutex_init (&iter->lock, NULL);
  clock_cond_init (&iter->has_leaves);
  pthread_cond_init (&iter->has_room, NULL);
  if (group)
    join_group (iter);
  err = start (iter);
  if (err == 0)
    return 0;
  destroy (iter);
  return error_errno (error, err, "cannot hash");
}

void
image_runs_close (struct image_runs *iter)
{
  stop (iter);
  pthread_join (iter->thread, NULL);
  error_copy (iter->error, &iter->reason);
  destroy (iter);
}
