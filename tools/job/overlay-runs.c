/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The image determines the runs: the image's own runs cover all blocks, because
 * blocks that were not read count as zeros.  When leaves of the base are
 * needed, the base is read up to the same block.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "../lib/common/util.h"
#include "job/overlay-runs.h"
#include "util/error.h"
#include "util/progress.h"
#include "util/ranges.h"

/* ---- A manifest ---- */

/* Remove the blocks beyond SIZE from RUN. */
static void
limit_run (struct blkhash_manifest_run *run, uint64_t size,
           uint32_t block_size)
{
  uint64_t end = DIV_ROUND_UP (size, block_size);
  uint64_t left = run->first < end ? end - run->first : 0;

  if (run->count > left)
    run->count = left;
}

static int
manifest_next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct manifest_runs *manifest = (struct manifest_runs *) runs;
  struct blkhash_manifest_reader *r = manifest->reader;
  uint32_t block_size =
    blkhash_opts_get_block_size (blkhash_manifest_reader_opts (r));
  int err;

  do {
    err = blkhash_manifest_reader_next (r, run);
    if (err == ENOENT)
      return err;
    if (err) {
      error_set (manifest->error, "%s%s%s",
                 manifest->name ? manifest->name : "",
                 manifest->name ? ": " : "", blkhash_manifest_reader_error (r));
      return err;
    }
    limit_run (run, manifest->size, block_size);
  } while (run->count == 0);
  progress_add (manifest->progress,
                leaf_run_bytes (run, manifest->size, block_size));
  return 0;
}

void
manifest_runs_init (struct manifest_runs *manifest,
                    struct blkhash_manifest_reader *reader, const char *name,
                    uint64_t size, const struct progress *progress,
                    struct error *error)
{
  *manifest = (struct manifest_runs) {
    .runs.next = manifest_next, .reader = reader, .name = name, .size = size,
    .progress = progress, .error = error
  };
}

/* ---- The base ---- */

#define MAX_BASE_RUN 65536      /* maximum number of blocks from the base in a
                                 * run, so that progress is visible */

/* Read the base up to block FIRST, so that BASE_LEFT starts with this block. */
static int
seek_base (struct overlay_runs *overlay, uint64_t first)
{
  struct blkhash_manifest_run *left = &overlay->base_left;

  while (left->first + left->count <= first) {
    int err = overlay->base->next (overlay->base, left);

    if (err == ENOENT)
      error_set (overlay->error, "%s: there are no more blocks",
                 overlay->base_name);
    if (err)
      return ECANCELED;
  }
  leaf_run_skip (left, first - left->first);
  return 0;
}

static int
use_base (struct overlay_runs *overlay, struct blkhash_manifest_run *run)
{
  struct blkhash_manifest_run *base = &overlay->base_left;
  int err = seek_base (overlay, run->first);

  if (err)
    return err;
  run->count = MIN (run->count, MIN (base->count, MAX_BASE_RUN));
  run->leaves = base->leaves;
  run->leaf_size = base->leaf_size;
  if (!run->leaves)
    overlay->base_zeros += leaf_run_bytes (run, overlay->size,
                                           overlay->block_size);
  progress_add (overlay->progress, run->count * base->leaf_size);
  return 0;
}

/* ---- The audit ---- */

/* Report the range of blocks that differ, if there is one. */
static void
report_difference (struct overlay_runs *overlay)
{
  const struct blkhash_manifest_run *run = &overlay->difference;

  if (run->count > 0)
    overlay->report (overlay->opaque, run->first * overlay->block_size,
                     leaf_run_bytes (run, overlay->size, overlay->block_size));
}

/* COUNT blocks from FIRST on differ: extend the range, or begin another. */
static void
add_difference (struct overlay_runs *overlay, uint64_t first, uint64_t count)
{
  struct blkhash_manifest_run *run = &overlay->difference;

  overlay->differs = true;
  if (run->first + run->count != first) {
    report_difference (overlay);
    *run = (struct blkhash_manifest_run) { .first = first };
  }
  run->count += count;
}

/* Compare RUN with the base.  RUN is truncated at the end of the current run of
 * the base.  Returns 0; or ECANCELED, with an error set, if the base fails.
 */
static int
audit (struct overlay_runs *overlay, struct blkhash_manifest_run *run)
{
  const struct blkhash_manifest_run *base = &overlay->base_left;
  size_t size;
  uint64_t i;
  int err = seek_base (overlay, run->first);

  if (err)
    return err;
  size = base->leaf_size;
  run->count = MIN (run->count, base->count);
  if (!base->leaves != !run->leaves)
    add_difference (overlay, run->first, run->count);
  else
    for (i = 0; run->leaves && i < run->count; i++)
      if (memcmp (base->leaves + i * size, run->leaves + i * size, size) != 0)
        add_difference (overlay, run->first + i, 1);
  return 0;
}

/* ---- The overlay ---- */

/* Returns the class of the blocks of RUN, which is truncated to blocks of one
 * class.
 */
static enum sample_class
class_of (const struct overlay_runs *overlay, struct blkhash_manifest_run *run)
{
  uint64_t len, count;
  enum sample_class class = audit_sample_at (overlay->sample,
                                             run->first * overlay->block_size,
                                             &len);

  count = DIV_ROUND_UP (len, overlay->block_size);
  run->count = MIN (run->count, count);
  return class;
}

/* The base is verified at its end. */
static int
read_to_end (struct overlay_runs *overlay)
{
  int err;

  do
    err = overlay->base->next (overlay->base, &overlay->base_left);
  while (err == 0);
  return err;
}

static int
next_run (struct overlay_runs *overlay, struct blkhash_manifest_run *run)
{
  struct blkhash_manifest_run *left = &overlay->image_left;
  int err = 0;

  if (left->count == 0)
    err = overlay->image->next (overlay->image, left);
  if (err)
    return err == ENOENT ? read_to_end (overlay) : err;
  *run = *left;
  switch (class_of (overlay, run)) {
  case SAMPLE_TRUSTED: err = use_base (overlay, run); break;
  case SAMPLE_AUDITED: err = audit (overlay, run); break;
  case SAMPLE_UNKNOWN: break;
  }
  leaf_run_skip (left, run->count);
  return err;
}

/* A difference that was found is also reported if the rest cannot be read. */
static int
overlay_next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct overlay_runs *overlay = (struct overlay_runs *) runs;
  int err = next_run (overlay, run);

  if (err)
    report_difference (overlay);
  return err;
}

void
overlay_runs_init (struct overlay_runs *overlay)
{
  overlay->runs.next = overlay_next;
}
