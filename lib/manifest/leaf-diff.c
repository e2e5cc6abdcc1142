/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compare the leaves of two images, and report the blocks that differ.
 *
 * Each image has a current run.  Blocks that are in both runs are compared and
 * removed; an empty run is replaced by the next one of its iterator.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "common/numbers.h"
#include "manifest/leaf-diff.h"
#include "manifest/leaf-runs.h"

uint64_t
leaf_diff_tail (uint64_t size_a, uint64_t size_b, uint32_t block_size)
{
  uint64_t size = MIN (size_a, size_b);

  return size_a != size_b && size % block_size ? size / block_size
                                               : LEAF_DIFF_NO_BLOCK;
}

/* ---- Ranges ---- */

int
leaf_diff_flush (struct leaf_diff *diff)
{
  uint64_t count = diff->count;

  diff->count = 0;
  diff->failed = -1;
  return count > 0 ? diff->differ (diff->opaque, diff->first, count) : 0;
}

static int
add (struct leaf_diff *diff, uint64_t first, uint64_t count)
{
  int err = 0;

  if (!diff->differ)
    return 0;
  if (diff->count == 0 || diff->first + diff->count != first) {
    err = leaf_diff_flush (diff);
    diff->first = first;
  }
  diff->count += count;
  return err;
}

static int
differ (struct leaf_diff *diff, uint64_t first, uint64_t count)
{
  uint64_t start = MAX (first, diff->begin), end = first + count;

  if (diff->end > 0 && end > diff->end)
    end = diff->end;
  if (start >= end)
    return 0;
  diff->any = true;
  return add (diff, start, end - start);
}

static int
may_differ (struct leaf_diff *diff)
{
  diff->tail_unknown = true;
  return diff->report_tail ? add (diff, diff->tail, 1) : 0;
}

/* ---- Runs ---- */

/* Compare COUNT blocks, which are data in both runs. */
static int
compare_data (struct leaf_diff *diff, const struct blkhash_manifest_run *a,
              const struct blkhash_manifest_run *b, uint64_t count)
{
  size_t size = a->leaf_size;
  uint64_t i;
  int err = 0;

  if (memcmp (a->leaves, b->leaves, count * size) == 0)
    return 0;
  for (i = 0; i < count && err == 0; i++) {
    if (memcmp (a->leaves + i * size, b->leaves + i * size, size) == 0)
      continue;
    err = a->first + i == diff->tail ? may_differ (diff)
                                     : differ (diff, a->first + i, 1);
  }
  return err;
}

static int
compare_both (struct leaf_diff *diff, struct blkhash_manifest_run *a,
              struct blkhash_manifest_run *b)
{
  uint64_t count = MIN (a->count, b->count);
  int err = 0;

  if (a->first != b->first) {   /* leaves of different blocks */
    diff->failed = -1;
    return EINVAL;
  }
  if (a->leaves && b->leaves)
    err = compare_data (diff, a, b, count);
  else if (a->leaves || b->leaves)
    err = differ (diff, a->first, count);
  leaf_run_skip (a, count);
  leaf_run_skip (b, count);
  return err;
}

/* Compare a run with zeros, because the other image has ended. */
static int
compare_alone (struct leaf_diff *diff, struct blkhash_manifest_run *run)
{
  int err = run->leaves ? differ (diff, run->first, run->count) : 0;

  run->count = 0;
  return err;
}

/* ---- Both images ---- */

struct input {
  struct leaf_runs *runs;
  struct blkhash_manifest_run run; /* the rest of the current run */
  bool ended;
};

/* Read the next run of each image that has not ended and whose current run is
 * empty.
 */
static int
read_on (struct leaf_diff *diff, struct input inputs[2])
{
  int i, err;

  for (i = 0; i < 2; i++) {
    struct input *input = &inputs[i];

    if (input->ended || input->run.count > 0)
      continue;
    err = input->runs->next (input->runs, &input->run);
    if (err && err != ENOENT) {
      diff->failed = i;
      return err;
    }
    input->ended = err == ENOENT;
  }
  return 0;
}

int
leaf_diff (struct leaf_diff *diff, struct leaf_runs *a, struct leaf_runs *b)
{
  struct input inputs[2] = { { .runs = a }, { .runs = b } };
  struct blkhash_manifest_run *run_a = &inputs[0].run, *run_b = &inputs[1].run;
  int err;

  do {
    err = read_on (diff, inputs);
    if (err || (inputs[0].ended && inputs[1].ended))
      return err;
    if (inputs[0].ended)
      err = compare_alone (diff, run_b);
    else if (inputs[1].ended)
      err = compare_alone (diff, run_a);
    else
      err = compare_both (diff, run_a, run_b);
  } while (err == 0 && (diff->differ || !diff->any));
  return err;
}
