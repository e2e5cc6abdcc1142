/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first pass of a repair: the list of bad blocks.
 *
 * The disk is hashed, and its leaves are compared with those of the manifest,
 * as for --compare.  A manifest of another disk is noticed by the number of
 * bad blocks, and reading ends then.
 *
 * A read that fails does not end it.  Its range counts as zeros, and is read
 * again at the end, a block at a time: blocks that cannot be read are bad.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "../lib/common/strata.h"
#include "../lib/manifest/leaf-diff.h"
#include "../lib/manifest/leaf-runs.h"
#include "job/repair-batch.h"
#include "job/repair-list.h"
#include "job/repair-manifest.h"
#include "leaves/image-runs.h"
#include "leaves/index-runs.h"
#include "source/target.h"
#include "util/error.h"
#include "util/request.h"

/* The leaves of the manifest, up to the limit of bad blocks. */
struct limited_runs {
  struct leaf_runs runs;
  struct index_runs index;
  const struct repair_manifest *manifest;
  struct repair_list *list;     /* its BAD does not count unread blocks */
  struct leaf_diff diff;
  uint64_t limit;               /* blocks */
  uint32_t share;               /* the same, in millionths of a percent */
  struct error *error;

  pthread_mutex_t lock;         /* protects the fields below */
  struct ranges unread;         /* whole blocks */
  uint64_t unread_blocks, failed_reads;
};

/* ---- The limit ---- */

/* COUNT * SHARE / STRATA_ALL, which must not overflow. */
static uint64_t
share_of (uint64_t count, uint32_t share)
{
  return count / STRATA_ALL * share + count % STRATA_ALL * share / STRATA_ALL;
}

static int
check_limit (const struct limited_runs *limited, uint64_t bad)
{
  if (bad <= limited->limit)
    return 0;
  error_set (limited->error, "more than %g%% of its blocks are bad: %" PRIu64
             " of the first %" PRIu64 ", so it may be another disk than that "
             "of the manifest; nothing was written; --repair-limit allows more",
             limited->share / (STRATA_ALL / 100.0), bad, limited->index.next);
  return ECANCELED;
}

/* Returns how many blocks are bad at least.  The last range is not in the list
 * before it ends, and can have unread blocks.  A read that failed has a bad
 * block.
 */
static uint64_t
count_bad (struct limited_runs *limited)
{
  uint64_t last = limited->diff.count;
  SCOPED_LOCK (&limited->lock);

  last -= MIN (last, limited->unread_blocks);
  return limited->list->bad + last + limited->failed_reads;
}

static int
next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct limited_runs *limited = (struct limited_runs *) runs;
  int err = check_limit (limited, count_bad (limited));

  return err ? err : limited->index.runs.next (&limited->index.runs, run);
}

/* ---- Reads that fail ---- */

static uint64_t
count_blocks (const struct limited_runs *limited, uint64_t bytes)
{
  return DIV_ROUND_UP (bytes, limited->manifest->block_size);
}

/* A range is added before its leaves are compared. */
static bool
add_unread (void *opaque, uint64_t offset, uint64_t len)
{
  struct limited_runs *limited = opaque;
  SCOPED_LOCK (&limited->lock);

  if (ranges_add (&limited->unread, offset, len) != 0)
    return false;
  ranges_sort (&limited->unread);
  limited->unread_blocks += count_blocks (limited, len);
  limited->failed_reads++;
  return true;
}

/* How many blocks of the LEN bytes at OFFSET were read? */
static uint64_t
count_read (struct limited_runs *limited, uint64_t offset, uint64_t len)
{
  uint64_t end = offset + len, same, count = 0;
  SCOPED_LOCK (&limited->lock);

  for (; offset < end; offset += same) {
    bool unread = ranges_has (&limited->unread, offset, &same);

    same = MIN (same, end - offset);
    if (!unread)
      count += count_blocks (limited, same);
  }
  return count;
}

/* Read again what could not be read, and add what is bad. */
static int
add_unreadable (struct limited_runs *limited, const struct target *target)
{
  const struct repair_manifest *manifest = limited->manifest;
  struct repair_list *list = limited->list;
  struct repair_batch batch;
  size_t i;
  int r, err = 0;

  if (repair_batch_init (&batch, manifest, &limited->unread,
                         limited->error) == -1)
    return ECANCELED;
  while (err == 0 && (r = repair_batch_next (&batch, limited->error)) != 0) {
    if (r == -1 || repair_batch_read (&batch, target, limited->error) == -1)
      err = ECANCELED;
    for (i = 0; i < batch.count && err == 0; i++)
      err = ranges_add (&list->ranges, batch.blocks[i].offset,
                        batch.blocks[i].len);
    list->bad += batch.count;
    if (err == 0)
      err = check_limit (limited, list->bad);
  }
  repair_batch_destroy (&batch);
  return err;
}

/* ---- Comparing ---- */

/* Ranges of unread blocks are added at the end. */
static int
add_range (void *opaque, uint64_t first, uint64_t count)
{
  struct limited_runs *limited = opaque;
  const struct repair_manifest *manifest = limited->manifest;
  const struct blkhash_manifest_run run = { .first = first, .count = count };
  uint64_t offset = first * manifest->block_size;
  uint64_t len = leaf_run_bytes (&run, manifest->size, manifest->block_size);

  limited->list->bad += count_read (limited, offset, len);
  return ranges_add (&limited->list->ranges, offset, len);
}

static int
compare (struct limited_runs *limited, struct leaf_runs *image)
{
  int err = leaf_diff (&limited->diff, &limited->runs, image);

  return err ? err : leaf_diff_flush (&limited->diff);
}

static int
scan_target (struct limited_runs *limited, struct target *target,
             const struct image_request *request)
{
  struct image_runs image;
  int err;

  if (target_begin_scan (target, limited->error) == -1 ||
      image_runs_open (&image, target->source, request, NULL,
                       limited->error) == -1)
    return ECANCELED;
  err = compare (limited, &image.runs);
  image_runs_close (&image);
  return err;
}

static int
make_list (struct limited_runs *limited, struct target *target,
           const struct image_request *request)
{
  int err;

  target->options.unreadable = add_unread;
  target->options.unreadable_opaque = limited;
  err = scan_target (limited, target, request);
  target->options.unreadable = NULL;
  if (err == 0 && target_end_scan (target, limited->error) == -1)
    err = ECANCELED;
  if (err == 0)
    err = add_unreadable (limited, target);
  if (err == 0)
    ranges_sort (&limited->list->ranges);
  return err ? err : check_limit (limited, limited->list->bad);
}

int
repair_list_make (struct repair_list *list,
                  const struct repair_manifest *manifest,
                  struct target *target,
                  const struct repair_request *request, struct error *error)
{
  struct limited_runs limited = {
    .runs.next = next, .manifest = manifest, .list = list,
    .share = request->limit, .error = error,
    .diff = {
      .tail = LEAF_DIFF_NO_BLOCK, .differ = add_range, .opaque = &limited
    },
    .lock = PTHREAD_MUTEX_INITIALIZER,
  };
  const struct progress *progress =
    progress_begin (&request->hash.progress, manifest->size);
  const struct image_request image = {
    .opts = manifest->opts, .progress = progress
  };
  int err;

  *list = (struct repair_list) { .bad = 0 };
  index_runs_init (&limited.index, manifest->index, manifest->path, error);
  limited.limit = share_of (limited.index.end, request->limit);
  err = make_list (&limited, target, &image);
  ranges_free (&limited.unread);
  progress_end (progress, err == 0);
  return err ? error_errno (error, err, "cannot compare") : 0;
}

void
repair_list_free (struct repair_list *list)
{
  ranges_free (&list->ranges);
}
