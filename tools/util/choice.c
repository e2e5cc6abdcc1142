/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which parts of a disk are read, when a manifest says most of it.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "../lib/common/numbers.h"
#include "util/choice.h"
#include "util/ranges.h"

/* Bytes: what is read begins and ends at such offsets, or where blocks do.  No
 * NBD server asks for more, and no direct I/O.
 */
#define READ_UNIT (64 * 1024)

/* ---- How many ---- */

/* A share of COUNT, rounded up, without an overflow. */
static uint64_t
share_of (uint64_t count, uint32_t share)
{
  uint64_t rest = count % CHOICE_ALL * share;

  return count / CHOICE_ALL * share + rest / CHOICE_ALL +
    (rest % CHOICE_ALL != 0);
}

static uint64_t
units (const struct choice *choice, uint64_t len)
{
  return len / choice->unit + (len % choice->unit != 0);
}

static int
count_before (struct choice *choice)
{
  const struct ranges *unknown = choice->unknown;
  uint64_t sum = 0;
  size_t i;

  choice->before = calloc (unknown->count + 1, sizeof *choice->before);
  if (!choice->before)
    return ENOMEM;
  for (i = 0; i < unknown->count; i++) {
    choice->before[i] = sum;
    sum += units (choice, unknown->items[i].len);
  }
  choice->before[i] = sum;
  return 0;
}

/* Of some length, and as many that none is longer than that: then no unit is
 * audited with less probability than LEAST of all units are.
 */
static void
set_strata (struct choice *choice, uint64_t least)
{
  if (least < CHOICE_LEAST)
    least = CHOICE_LEAST;
  if (least > choice->believed)
    least = choice->believed;
  choice->stratum = choice->believed / least;
  choice->audited = choice->believed / choice->stratum +
    (choice->believed % choice->stratum != 0);
}

int
choice_init (struct choice *choice, uint64_t size, uint32_t block_size,
             struct ranges *unknown, uint32_t audit, uint64_t seed)
{
  *choice = (struct choice) {
    .size = size,
    .unit = block_size < READ_UNIT ? READ_UNIT : block_size,
    .unknown = unknown,
    .seed = seed,
  };
  ranges_align (unknown, choice->unit, size);
  if (count_before (choice) != 0)
    return ENOMEM;
  choice->believed = units (choice, size) - choice->before[unknown->count];
  if (audit > 0 && choice->believed > 0)
    set_strata (choice, share_of (choice->believed, audit));
  return 0;
}

void
choice_destroy (struct choice *choice)
{
  free (choice->before);
}

uint64_t
choice_bytes (const struct choice *choice)
{
  uint64_t unknown = ranges_bytes (choice->unknown);
  uint64_t rest = choice->size - unknown;

  return choice->audited < rest / choice->unit
    ? unknown + choice->audited * choice->unit : choice->size;
}

/* ---- Which ---- */

/* The first of the unknown that ends behind OFFSET, or how many there are. */
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

/* Splitmix64: numbers that look random, one for each INDEX. */
static uint64_t
random_of (const struct choice *choice, uint64_t index)
{
  uint64_t z = choice->seed + (index + 1) * UINT64_C (0x9e3779b97f4a7c15);

  z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Of the units that are believed, the one with the number N: is it audited?
 * Stores in *COUNT for how many units this is so.
 */
static bool
is_audited (const struct choice *choice, uint64_t n, uint64_t *count)
{
  uint64_t index = n / choice->stratum, start = index * choice->stratum;
  uint64_t left = choice->believed - start;
  uint64_t len = MIN (left, choice->stratum);
  uint64_t chosen = start + random_of (choice, index) % len;

  *count = n < chosen ? chosen - n : n > chosen ? start + len - n : 1;
  return n == chosen;
}

enum choice_kind
choice_at (const struct choice *choice, uint64_t offset, uint64_t *len)
{
  const struct ranges *unknown = choice->unknown;
  size_t i = find_unknown (unknown, offset);
  uint64_t unit = offset / choice->unit, count, same;
  bool audited;

  *len = UINT64_MAX - offset;
  if (i < unknown->count) {
    const struct ranges_item *range = &unknown->items[i];

    if (range->start <= offset) {
      *len = range->start + range->len - offset;
      return CHOICE_UNKNOWN;
    }
    *len = range->start - offset;
  }
  if (choice->audited == 0 || offset >= choice->size)
    return CHOICE_BELIEVED;
  audited = is_audited (choice, unit - choice->before[i], &count);
  same = count * choice->unit - offset % choice->unit;
  if (*len > same)
    *len = same;
  return audited ? CHOICE_AUDITED : CHOICE_BELIEVED;
}
