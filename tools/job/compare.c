/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: where do two images differ?
 *
 * Two files are read as one image, which is zero where they are the same.  Else
 * both are hashed, or their manifests are read, at the same time, and their
 * leaves are compared as they come.  What is beyond the end of the shorter one
 * is compared with zeros.
 *
 * Of two images the block in which one ends is hashed as if zeros followed,
 * since nobody knows yet how long a pipe is.  Of a manifest that is not
 * possible: then it may be that nobody can tell.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash-manifest.h"

#include "cli/difference.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "job/compare-kind.h"
#include "job/compare.h"
#include "job/follows.h"
#include "job/manifest.h"
#include "job/meet.h"
#include "job/side.h"
#include "source/pair.h"
#include "source/source.h"
#include "util/error.h"

struct compare {
  const struct options *options;
  struct difference *difference;
  struct side side[2];
  struct side both;             /* as one image, or without a source */
  struct compare_kind kind;
  struct meet meet;
  struct progress progress;
};

/* ---- Sizes ---- */

/* The block within which a manifest ends, if the other image goes on there, for
 * all that is known; or LEAF_DIFF_NO_BLOCK.
 */
static uint64_t
find_tail (const struct compare *compare)
{
  int i;

  for (i = 0; i < 2; i++) {
    const struct side *side = &compare->side[i];
    uint32_t block_size = blkhash_opts_get_block_size (side->opts);

    if (side->reader && compare->side[!i].size > side->size &&
        side->size % block_size != 0)
      return side->size / block_size;
  }
  return LEAF_DIFF_NO_BLOCK;
}

/* ---- Both at once ---- */

/* Nobody looks at DIFFERENCE meanwhile, and nobody draws a bar. */
static int
tell (void *opaque, const struct meet_range *range)
{
  struct compare *compare = opaque;
  struct difference *difference = compare->difference;
  uint32_t block_size = blkhash_opts_get_block_size (compare->side[0].opts);
  uint64_t size = difference->size[0] > difference->size[1]
    ? difference->size[0] : difference->size[1];
  uint64_t start = range->first * block_size, left = size - start;

  if (!difference->silent)
    progress_hide (&compare->progress);
  difference->write_error =
    difference_range (compare->options, difference, start,
                      range->count > left / block_size
                      ? left : range->count * block_size);
  if (!difference->silent)
    progress_show (&compare->progress);
  return difference->write_error;
}

/* What takes time is to read an image. */
static bool
tells_progress (const struct compare *compare, int i)
{
  return compare->side[i].source || !compare->side[!i].source;
}

/* They were read as one image, which is compared with an empty one. */
static int
run_both (struct compare *compare)
{
  struct side *both = &compare->both, *failed;

  both->opts = compare->kind.opts;
  both->other = &compare->side[1];
  both->meet = &compare->meet;
  both->progress = &compare->progress;
  meet_end (&compare->meet, 1);
  side_run (both);
  if (both->failed) {
    failed = &compare->side[pair_failed (both->source)];
    failed->failed = true;
    failed->error = both->error;
  }
  return compare->meet.error;
}

static int
run_sides (struct compare *compare)
{
  pthread_t thread;
  int i, err;

  for (i = 0; i < 2; i++) {
    compare->side[i].meet = &compare->meet;
    compare->side[i].index = i;
    compare->side[i].other = &compare->side[!i];
    compare->side[i].progress =
      tells_progress (compare, i) ? &compare->progress : NULL;
  }
  err = pthread_create (&thread, NULL, side_run, &compare->side[0]);
  if (err)
    return err;
  side_run (&compare->side[1]);
  pthread_join (thread, NULL);
  return compare->meet.error;
}

/* Are there leaves of what is not compared? */
static bool
is_part (const struct compare *compare)
{
  return compare->options->source.size != SOURCE_WHOLE ||
    compare->options->subset.n > 0;
}

/* Two manifests that were read to their ends have the same sum if they have the
 * same leaves, and only then: what their sums are made of was not computed.
 */
static int
check_sums (const struct compare *compare, struct error *error)
{
  const struct side *a = &compare->side[0], *b = &compare->side[1];
  unsigned char md_a[BLKHASH_MAX_MD_SIZE], md_b[BLKHASH_MAX_MD_SIZE];
  unsigned len;

  if (!a->reader || !b->reader || a->size != b->size || is_part (compare) ||
      blkhash_manifest_reader_sum (a->reader, md_a, &len) != 0 ||
      blkhash_manifest_reader_sum (b->reader, md_b, &len) != 0)
    return 0;
  if (blkhash_opts_same_hash (blkhash_manifest_reader_opts (a->reader),
                              blkhash_manifest_reader_opts (b->reader)) &&
      (memcmp (md_a, md_b, len) == 0) == compare->meet.differ)
    return error_set (error, "the sum of this manifest or of the other is not "
                      "that of its leaves");
  return 0;
}

static int
finish (struct compare *compare, int err, const char **operand,
        struct error *error)
{
  struct difference *difference = compare->difference;
  struct meet *meet = &compare->meet;
  int i;

  for (i = 0; i < 2; i++)
    if (compare->side[i].failed) {
      *operand = compare->side[i].operand;
      *error = compare->side[i].error;
      return -1;
    }
  *operand = compare->side[0].operand;
  difference->size[0] = compare->side[0].size;
  difference->size[1] = compare->side[1].size;
  /* By now it is known where a pipe ends. */
  difference->differ = meet->differ ||
    (meet->tail_unknown && find_tail (compare) == LEAF_DIFF_NO_BLOCK) ||
    (compare->options->strict && difference->size[0] != difference->size[1]);
  if (meet->tail_unknown && !difference->differ)
    return error_set (error, "cannot tell whether it is the same: the block "
                      "in which the shorter one ends is data, and a manifest "
                      "has only digests");
  if (err == 0 && check_sums (compare, error) == -1)
    return -1;
  if (err == 0 && difference->differ)
    err = meet_tell_last (meet);
  return err ? error_errno (error, err, "cannot compare") : 0;
}

/* Of a pipe as many as the other has, since they may well be identical. */
static uint64_t
bytes_to_bring (const struct compare *compare)
{
  uint64_t total = 0;
  int i;

  if (compare->both.source)
    return subset_bytes (&compare->options->subset, compare->both.size);
  for (i = 0; i < 2; i++) {
    uint64_t size = compare->side[i].size;

    if (size == SOURCE_SIZE_UNKNOWN)
      size = compare->side[!i].size;
    if (size == SOURCE_SIZE_UNKNOWN)
      return PROGRESS_NO_SIZE;
    if (tells_progress (compare, i))
      total += subset_bytes (&compare->options->subset, size);
  }
  return total;
}

/* Is it known before anything is read? */
static bool
have_other_sizes (const struct compare *compare)
{
  const struct side *a = &compare->side[0], *b = &compare->side[1];

  return a->size != SOURCE_SIZE_UNKNOWN && b->size != SOURCE_SIZE_UNKNOWN &&
    a->size != b->size;
}

static int
compare_sides (struct compare *compare, const char **operand,
               struct error *error)
{
  unsigned failed;
  int err, r;

  if (side_open_both (&compare->both, compare->side) == -1)
    return error_errno (error, errno, "cannot compare");
  if (compare_kind_choose (&compare->kind, compare->side, &compare->both,
                           &failed, error) == -1) {
    *operand = compare->side[failed].operand;
    return -1;
  }
  compare->side[0].opts = compare->side[1].opts = compare->kind.opts;
  compare->difference->size[0] = compare->side[0].size;
  compare->difference->size[1] = compare->side[1].size;
  if (compare->options->strict && have_other_sizes (compare) &&
      compare->options->check_report == CHECK_QUIET) {
    compare->difference->differ = true;
    return 0;
  }
  meet_init (&compare->meet, find_tail (compare),
             compare->options->check_report == CHECK_QUIET ? NULL : tell,
             compare);
  progress_init (&compare->progress, compare->options,
                 bytes_to_bring (compare));
  err = compare->both.source ? run_both (compare) : run_sides (compare);
  r = finish (compare, err, operand, error);
  progress_end (&compare->progress, r == 0 && !compare->meet.stopped);
  meet_destroy (&compare->meet);
  return r;
}

/* What follows the images, with --size. */
static void
look_behind (struct compare *compare, struct difference *difference)
{
  int i;

  for (i = 0; i < 2; i++) {
    struct side *side = &compare->side[i];
    struct error error = { "" };

    difference->follows[i] = side->follows;
    if (!side->source || follows_find (compare->options, side->source,
                                       &difference->follows[i], &error) == 0)
      continue;
    report (side->operand, &error);
    difference->follows[i].what = FOLLOWS_UNREAD;
    difference->incomplete = true;
  }
}

int
job_compare (const struct options *options, struct difference *difference,
             const char **operand, struct error *error)
{
  struct compare compare = {
    .options = options, .difference = difference, .both = { .fd = -1 }
  };
  char **operands = options->operands;
  bool check_sum = !job_manifest_path (operands[0]) ||
    !job_manifest_path (operands[1]) || is_part (&compare);
  int i, r;

  *operand = operands[0];
  if (job_manifest_is_stdin (options, operands[0]) &&
      job_manifest_is_stdin (options, operands[1]))
    return error_set (error, "standard input cannot be both images");
  for (i = 0; i < 2; i++) {
    *operand = operands[i];
    if (side_open (&compare.side[i], options, operands[i], check_sum) == -1) {
      *error = compare.side[i].error;
      if (i == 1)
        side_close (&compare.side[0]);
      return -1;
    }
  }
  if (side_is_same_pipe (&compare.side[0], &compare.side[1]))
    r = error_set (error, "a pipe cannot be both images");
  else
    r = compare_sides (&compare, operand, error);
  if (r == 0 && options->source.size != SOURCE_WHOLE &&
      options->subset.n == 0 && options->check_report != CHECK_QUIET)
    look_behind (&compare, difference);
  if (r == 0)
    difference->manifest_sum = side_sum (&compare.side[0]);
  side_close (&compare.both);
  side_close (&compare.side[0]);
  side_close (&compare.side[1]);
  compare_kind_free (&compare.kind);
  return r;
}
