/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>

#include "util/part.h"
#include "util/subset.h"

int
part_parse (struct part *part, const char *text)
{
  struct subset subset;

  if (subset_parse (&subset, text) == -1 || subset.n > PART_MAX)
    return -1;
  *part = (struct part) { .i = subset.k, .n = subset.n };
  return 0;
}

/* Returns UNITS * I / N, rounded down. */
static uint64_t
share (uint64_t units, uint32_t i, uint32_t n)
{
  return units / n * i + units % n * i / n;
}

void
part_blocks (const struct part *part, uint64_t size, uint32_t block_size,
             uint64_t *first, uint64_t *count)
{
  uint64_t blocks = size / block_size + (size % block_size != 0);
  uint64_t unit = size / PART_UNIT >= part->n ? PART_UNIT : block_size;
  uint64_t units = size / unit + (size % unit != 0), end;

  *first = share (units, part->i, part->n) * (unit / block_size);
  end = share (units, part->i + 1, part->n) * (unit / block_size);
  if (end > blocks)
    end = blocks;
  *count = end - *first;
}

uint64_t
part_offset (uint64_t block, uint64_t size, uint32_t block_size)
{
  return block > size / block_size ? size : block * block_size;
}

char *
part_path (const struct part *part, const char *dir)
{
  char *path;

  if (asprintf (&path, "%s/part-%06" PRIu32 "-of-%06" PRIu32 ".blkm", dir,
                part->i, part->n) == -1)
    return NULL;
  return path;
}
