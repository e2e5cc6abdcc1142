/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first pass of a repair: the list of bad blocks.
 *
 * The disk is hashed, and its leaves are compared with those of the manifest,
 * as for --compare.  A manifest of another disk is noticed by the number of
 * bad blocks, and reading ends then.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#include "../lib/manifest/leaf-diff.h"
#include "../lib/manifest/leaf-runs.h"
#include "job/repair-list.h"
#include "job/repair-manifest.h"
#include "leaves/image-runs.h"
#include "leaves/index-runs.h"
#include "source/source.h"
#include "util/audit-sample.h"
#include "util/error.h"
#include "util/request.h"

/* The leaves of the manifest, up to the limit of bad blocks. */
struct limited_runs {
  struct leaf_runs runs;
  struct index_runs index;
  const struct repair_manifest *manifest;
  struct repair_list *list;
  struct leaf_diff diff;
  uint64_t limit;               /* blocks */
  uint32_t share;               /* the same, in millionths of a percent */
  struct error *error;
};

/* ---- The limit ---- */

/* COUNT * SHARE / SAMPLE_ALL, which must not overflow. */
static uint64_t
share_of (uint64_t count, uint32_t share)
{
  return count / SAMPLE_ALL * share + count % SAMPLE_ALL * share / SAMPLE_ALL;
}

/* The last range is not in the list before it ends. */
static int
check_limit (struct limited_runs *limited)
{
  uint64_t bad = limited->list->bad + limited->diff.count;

  if (bad <= limited->limit)
    return 0;
  error_set (limited->error, "more than %g%% of its blocks are bad: %" PRIu64
             " of the first %" PRIu64 ", so it may be another disk than that "
             "of the manifest; nothing was written; --repair-limit allows more",
             limited->share / (SAMPLE_ALL / 100.0), bad, limited->index.next);
  return ECANCELED;
}

static int
next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct limited_runs *limited = (struct limited_runs *) runs;
  int err = check_limit (limited);

  return err ? err : limited->index.runs.next (&limited->index.runs, run);
}

/* ---- Comparing ---- */

static int
add_range (void *opaque, uint64_t first, uint64_t count)
{
  struct limited_runs *limited = opaque;
  const struct repair_manifest *manifest = limited->manifest;
  const struct blkhash_manifest_run run = { .first = first, .count = count };

  limited->list->bad += count;
  return ranges_add (&limited->list->ranges, first * manifest->block_size,
                     leaf_run_bytes (&run, manifest->size,
                                     manifest->block_size));
}

static int
compare (struct limited_runs *limited, struct leaf_runs *image)
{
  int err = leaf_diff (&limited->diff, &limited->runs, image);

  if (err == 0)
    err = leaf_diff_flush (&limited->diff);
  if (err == 0)
    err = check_limit (limited);
  if (err == 0)
    ranges_sort (&limited->list->ranges);
  return err;
}

static int
compare_with_image (struct limited_runs *limited, struct source *source,
                    const struct image_request *request)
{
  struct image_runs image;
  int err;

  if (image_runs_open (&image, source, request, NULL, limited->error) == -1)
    return ECANCELED;
  err = compare (limited, &image.runs);
  image_runs_close (&image);
  return err;
}

int
repair_list_make (struct repair_list *list,
                  const struct repair_manifest *manifest,
                  struct source *source,
                  const struct repair_request *request, struct error *error)
{
  struct limited_runs limited = {
    .runs.next = next, .manifest = manifest, .list = list,
    .share = request->limit, .error = error,
    .diff = {
      .tail = LEAF_DIFF_NO_BLOCK, .differ = add_range, .opaque = &limited
    },
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
  err = compare_with_image (&limited, source, &image);
  progress_end (progress, err == 0);
  return err ? error_errno (error, err, "cannot compare") : 0;
}

void
repair_list_free (struct repair_list *list)
{
  ranges_free (&list->ranges);
}
