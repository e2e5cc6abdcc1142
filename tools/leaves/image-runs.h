/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves of an image that is hashed meanwhile, as an iterator: the one with
 * threads.
 *
 * The threads that hash are ahead of the one that takes leaves by what two
 * batches hold, and wait then.  Each image has batches and threads of its own,
 * so two that are compared never wait for each other.  But if they are a group,
 * an error of one ends the other, which may wait for a stalled pipe.
 */

#ifndef BLKSUM_IMAGE_RUNS_H
#define BLKSUM_IMAGE_RUNS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "../lib/manifest/leaf-runs.h"
#include "cli/output.h"
#include "leaves/image-table.h"
#include "util/error.h"

struct image_batch;
struct image_runs;

struct image_group {
  pthread_mutex_t lock;         /* protects what follows; taken before that of
                                 * a member */
  struct image_runs *members[2]; /* that are open, or NULL */
  bool failed;                  /* one of them did */
};

void image_group_init (struct image_group *group);
void image_group_destroy (struct image_group *group);

struct image_runs {
  struct leaf_runs runs;

  /* Set once. */
  struct source *source;
  struct image_request request;
  struct image_group *group;    /* or NULL */
  struct error *error;          /* where the reason is wanted */
  struct blkhash_leaves *leaves;
  pthread_t thread;

  /* Of who takes leaves. */
  struct image_batch *front;
  size_t taken;                 /* runs of it */

  pthread_mutex_t lock;         /* protects what follows */
  pthread_cond_t has_leaves, has_room; /* in BACK */
  struct image_batch *back;     /* is filled, and becomes the front */
  bool closed;                  /* no more leaves are taken */
  bool ended;                   /* from here on the rest is set once */
  struct error reason;          /* why it failed before it was closed, or empty
                                 */
  struct sum sum;               /* of all, after ENOENT: how much was read */
};

/* Begin to hash the image of SOURCE, as a member of GROUP or of none.  They and
 * the options of REQUEST must be there until it is closed.  0, or -1 with the
 * reason in ERROR: then there is nothing to be closed.
 *
 * If the image cannot be read, the iterator returns ECANCELED, and the reason
 * is in ERROR, unless there is another; at the latest after it was closed.  If
 * the other member of the group failed, it returns ECANCELED without a reason.
 */
int image_runs_open (struct image_runs *image, struct source *source,
                     const struct image_request *request,
                     struct image_group *group, struct error *error);

/* At any time, also before the image was read: that ends then, as soon as the
 * source sees it.
 */
void image_runs_close (struct image_runs *image);

#endif /* BLKSUM_IMAGE_RUNS_H */
