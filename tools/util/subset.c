/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A subset of an image: every N-th GiB, from the K-th.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/subset.h"

/* Parse a decimal number before END.  Returns the text after END, or NULL. */
static const char *
parse_number (const char *text, char end, uint32_t *number)
{
  unsigned long long value;
  char *rest;

  errno = 0;
  value = strtoull (text, &rest, 10);
  if (!isdigit ((unsigned char) text[0]) || errno != 0 || *rest != end ||
      value > UINT32_MAX)
    return NULL;
  *number = value;
  return rest + 1;
}

int
subset_parse (struct subset *subset, const char *text)
{
  text = parse_number (text, '/', &subset->k);
  if (text)
    text = parse_number (text, '\0', &subset->n);
  return text && subset->k < subset->n ? 0 : -1;
}

bool
subset_has (const struct subset *subset, uint64_t offset, uint64_t *len)
{
  uint64_t units;

  *len = UINT64_MAX;
  if (subset->n == 0)
    return true;
  /* The number of units from the one with OFFSET to the next one in the subset;
   * 0 if the unit with OFFSET is in the subset.
   */
  units = ((uint64_t) subset->n + subset->k -
           offset / SUBSET_UNIT % subset->n) % subset->n;
  *len = (units > 0 ? units : 1) * SUBSET_UNIT - offset % SUBSET_UNIT;
  return units == 0;
}

uint64_t
subset_bytes (const struct subset *subset, uint64_t size)
{
  uint64_t full = size / SUBSET_UNIT, rest = size % SUBSET_UNIT, bytes = 0;

  if (subset->n == 0)
    return size;
  if (full > subset->k)
    bytes = ((full - subset->k - 1) / subset->n + 1) * SUBSET_UNIT;
  if (full % subset->n == subset->k)
    bytes += rest;
  return bytes;
}

void
subset_describe (const struct subset *subset, uint64_t size, char *text,
                 size_t room)
{
  static const char *const units[] = { "bytes", "KiB", "MiB", "GiB" };
  uint64_t part = subset_bytes (subset, size);
  unsigned i = 0;

  while (i < 3 && size > 0 && part % 1024 == 0 && size % 1024 == 0) {
    part /= 1024;
    size /= 1024;
    i++;
  }
  snprintf (text, room, "%" PRIu64 " of %" PRIu64 " %s", part, size, units[i]);
}
