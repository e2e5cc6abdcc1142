/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The audit sample: selects which units of an image --update and --resume read
 * and compare, of those whose leaves they take from a manifest.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "../lib/common/numbers.h"
#include "util/audit-sample.h"
#include "util/ranges.h"

/* Reads are aligned to this number of bytes, or to larger blocks.  Neither NBD
 * servers nor direct I/O require a larger alignment.
 */
#define READ_UNIT (64 * 1024)

/* ---- The size of the sample ---- */

/* Returns COUNT * SHARE / SAMPLE_ALL, rounded up, without overflow. */
static uint64_t
share_of (uint64_t count, uint32_t share)
{
  uint64_t rest = count % SAMPLE_ALL * share;

  return count / SAMPLE_ALL * share + rest / SAMPLE_ALL +
    (rest % SAMPLE_ALL != 0);
}

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

/* Divide the trusted units into at least LEAST strata, and at least
 * SAMPLE_MIN_UNITS, if there are as many units.  So each unit is audited with a
 * probability of at least LEAST / sample->trusted.
 */
static void
set_strata (struct audit_sample *sample, uint64_t least)
{
  if (least < SAMPLE_MIN_UNITS)
    least = SAMPLE_MIN_UNITS;
  if (least > sample->trusted)
    least = sample->trusted;
  sample->stratum = sample->trusted / least;
  sample->audited = sample->trusted / sample->stratum +
    (sample->trusted % sample->stratum != 0);
}

int
audit_sample_init (struct audit_sample *sample, uint64_t size,
                   uint32_t block_size, struct ranges *unknown,
                   uint32_t audit, uint64_t seed)
{
  *sample = (struct audit_sample) {
    .size = size,
    .unit = block_size < READ_UNIT ? READ_UNIT : block_size,
    .unknown = unknown,
    .seed = seed,
  };
  ranges_align (unknown, sample->unit, size);
  if (count_before (sample) != 0)
    return ENOMEM;
  sample->trusted = units (sample, size) - sample->before[unknown->count];
  if (audit > 0 && sample->trusted > 0)
    set_strata (sample, share_of (sample->trusted, audit));
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

  return sample->audited < rest / sample->unit
    ? unknown + sample->audited * sample->unit : sample->size;
}

/* ---- The selection ---- */

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

/* Splitmix64: a pseudo-random number for each INDEX. */
static uint64_t
random_of (const struct audit_sample *sample, uint64_t index)
{
  uint64_t z = sample->seed + (index + 1) * UINT64_C (0x9e3779b97f4a7c15);

  z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Returns true if the trusted unit with the number N is audited.  Stores in
 * *COUNT the number of units from N on to which the answer applies.
 */
static bool
is_audited (const struct audit_sample *sample, uint64_t n, uint64_t *count)
{
  uint64_t index = n / sample->stratum, start = index * sample->stratum;
  uint64_t left = sample->trusted - start;
  uint64_t len = MIN (left, sample->stratum);
  uint64_t chosen = start + random_of (sample, index) % len;

  *count = n < chosen ? chosen - n : n > chosen ? start + len - n : 1;
  return n == chosen;
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
  if (sample->audited == 0 || offset >= sample->size)
    return SAMPLE_TRUSTED;
  audited = is_audited (sample, unit - sample->before[i], &count);
  same = count * sample->unit - offset % sample->unit;
  if (*len > same)
    *len = same;
  return audited ? SAMPLE_AUDITED : SAMPLE_TRUSTED;
}
