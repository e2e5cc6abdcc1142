/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The audit sample of blkhash update: which of the units whose leaves
 * are taken from a manifest are also read, and compared with it.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "../lib/common/util.h"
#include "util/audit-sample.h"
#include "util/ranges.h"

static uint64_t
units (const struct audit_sample *sample, uint64_t len)
{
  return len / sample->unit + (len % sample->unit != 0);
}

static int
count_before (struct audit_sample *sample)
{
  const struct ranges *unknown = sample->unknown;
  uint64_t sum = 0;
  size_t i;

  sample->before = calloc (unknown->count + 1, sizeof *sample->before);
  if (!sample->before)
    return ENOMEM;
  for (i = 0; i < unknown->count; i++) {
    sample->before[i] = sum;
    sum += units (sample, unknown->items[i].len);
  }
  sample->before[i] = sum;
  return 0;
}

int
audit_sample_init (struct audit_sample *sample, uint64_t size,
                   uint32_t block_size, struct ranges *unknown,
                   uint32_t audit, uint64_t seed)
{
  *sample = (struct audit_sample) {
    .size = size,
    .unit = MAX (block_size, STRATA_READ_UNIT),
    .unknown = unknown,
  };
  ranges_align (unknown, sample->unit, size);
  if (count_before (sample) != 0)
    return ENOMEM;
  strata_init (&sample->trusted,
               units (sample, size) - sample->before[unknown->count], audit,
               seed);
  return 0;
}

void
audit_sample_destroy (struct audit_sample *sample)
{
  free (sample->before);
}

uint64_t
audit_sample_bytes (const struct audit_sample *sample)
{
  uint64_t unknown = ranges_bytes (sample->unknown);
  uint64_t rest = sample->size - unknown;

  return unknown + (sample->trusted.chosen <= rest / sample->unit
                    ? sample->trusted.chosen * sample->unit : rest);
}

/* Returns the index of the first unknown range that ends after OFFSET, or the
 * number of ranges if there is none.
 */
static size_t
find_unknown (const struct ranges *unknown, uint64_t offset)
{
  size_t low = 0, high = unknown->count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct ranges_item *range = &unknown->items[middle];

    if (range->start + range->len <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

enum sample_class
audit_sample_at (const struct audit_sample *sample, uint64_t offset,
                 uint64_t *len)
{
  const struct ranges *unknown = sample->unknown;
  size_t i = find_unknown (unknown, offset);
  uint64_t unit = offset / sample->unit, count, same;
  bool audited;

  *len = UINT64_MAX - offset;
  if (i < unknown->count) {
    const struct ranges_item *range = &unknown->items[i];

    if (range->start <= offset) {
      *len = range->start + range->len - offset;
      return SAMPLE_UNKNOWN;
    }
    *len = range->start - offset;
  }
  if (sample->trusted.chosen == 0 || offset >= sample->size)
    return SAMPLE_TRUSTED;
  audited = strata_at (&sample->trusted, unit - sample->before[i], &count);
  same = count * sample->unit - offset % sample->unit;
  if (*len > same)
    *len = same;
  return audited ? SAMPLE_AUDITED : SAMPLE_TRUSTED;
}
