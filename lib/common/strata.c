/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <ctype.h>
#include <string.h>

#include "common/strata.h"
#include "common/util.h"

bool
strata_parse_share (const char *text, uint32_t *share)
{
  const char *digit = text;
  uint64_t value = 0, unit = 1000000;

  for (; isdigit ((unsigned char) *digit) && value < 1000; digit++)
    value = 10 * value + (*digit - '0');
  value *= unit;
  if (digit > text && *digit == '.' && isdigit ((unsigned char) digit[1]))
    for (digit++; isdigit ((unsigned char) *digit) && unit > 1; digit++) {
      unit /= 10;
      value += (*digit - '0') * unit;
    }
  if (digit == text || strcmp (digit, "%") != 0 || value > STRATA_ALL)
    return false;
  *share = value;
  return true;
}

/* Returns COUNT * SHARE / STRATA_ALL, rounded up, without overflow. */
static uint64_t
share_of (uint64_t count, uint32_t share)
{
  uint64_t rest = count % STRATA_ALL * share;

  return count / STRATA_ALL * share + rest / STRATA_ALL +
    (rest % STRATA_ALL != 0);
}

/* A stratum has at most STRATA_ALL / SHARE units, so each unit is chosen with a
 * probability of at least SHARE / STRATA_ALL.
 */
void
strata_init (struct strata *strata, uint64_t units, uint32_t share,
             uint64_t seed)
{
  uint64_t least = MAX (share_of (units, share), STRATA_MIN_UNITS);

  *strata = (struct strata) { .units = units, .seed = seed };
  if (share == 0 || units == 0)
    return;
  strata->length = units / MIN (least, units);
  strata->chosen = DIV_ROUND_UP (units, strata->length);
}

/* Splitmix64: a pseudo-random number for each INDEX. */
static uint64_t
random_of (const struct strata *strata, uint64_t index)
{
  uint64_t z = strata->seed + (index + 1) * UINT64_C (0x9e3779b97f4a7c15);

  z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

bool
strata_at (const struct strata *strata, uint64_t n, uint64_t *count)
{
  uint64_t index, start, left, len, chosen;

  if (strata->chosen == 0) {
    *count = strata->units - n;
    return false;
  }
  index = n / strata->length;
  start = index * strata->length;
  left = strata->units - start;
  len = MIN (left, strata->length);
  chosen = start + random_of (strata, index) % len;
  *count = n < chosen ? chosen - n : n > chosen ? start + len - n : 1;
  return n == chosen;
}
