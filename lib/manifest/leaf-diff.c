/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which blocks of two images differ, by their leaves, which come in order.
 */

#include <config.h>

#include <string.h>

#include "common/numbers.h"
#include "manifest/leaf-diff.h"

uint64_t
leaf_diff_tail (uint64_t size_a, uint64_t size_b, uint32_t block_size)
{
  uint64_t size = MIN (size_a, size_b);

  return size_a != size_b && size % block_size ? size / block_size
                                               : LEAF_DIFF_NO_BLOCK;
}

/* COUNT blocks of data of both. */
static int
compare_data (const struct leaf_diff *diff,
              const struct blkhash_manifest_run *a,
              const struct blkhash_manifest_run *b, uint64_t count)
{
  size_t size = a->leaf_size;
  uint64_t i;
  int r = 0;

  if (memcmp (a->leaves, b->leaves, count * size) == 0)
    return 0;
  for (i = 0; i < count && r == 0; i++) {
    if (memcmp (a->leaves + i * size, b->leaves + i * size, size) == 0)
      continue;
    r = a->first + i == diff->tail
      ? diff->may_differ (diff->opaque, diff->tail)
      : diff->differ (diff->opaque, a->first + i, 1);
  }
  return r;
}

static void
take_away (struct blkhash_manifest_run *run, uint64_t count)
{
  run->first += count;
  run->count -= count;
  if (run->leaves)
    run->leaves += count * run->leaf_size;
}

int
leaf_diff_both (const struct leaf_diff *diff, struct blkhash_manifest_run *a,
                struct blkhash_manifest_run *b)
{
  uint64_t count = MIN (a->count, b->count);
  int r = 0;

  if (a->leaves && b->leaves)
    r = compare_data (diff, a, b, count);
  else if (a->leaves || b->leaves)
    r = diff->differ (diff->opaque, a->first, count);
  take_away (a, count);
  take_away (b, count);
  return r;
}

int
leaf_diff_alone (const struct leaf_diff *diff, struct blkhash_manifest_run *run)
{
  int r = run->leaves ? diff->differ (diff->opaque, run->first, run->count)
                      : 0;

  take_away (run, run->count);
  return r;
}
