/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/part.h"

/* The alignment of reads in bytes, unless the block size is larger.  No NBD
 * server requires a larger alignment, and neither does direct I/O.
 */
#define PART_ALIGNMENT ((uint64_t) 64 * 1024)

/* Parse a decimal number before END.  Returns the text after END, or NULL. */
static const char *
parse_number (const char *text, char end, uint32_t *number)
{
  unsigned long long value;
  char *rest;

  errno = 0;
  value = strtoull (text, &rest, 10);
  if (!isdigit ((unsigned char) text[0]) || errno != 0 || *rest != end ||
      value > PART_MAX)
    return NULL;
  *number = value;
  return rest + 1;
}

int
part_parse (struct part *part, const char *text)
{
  text = parse_number (text, '/', &part->i);
  if (text)
    text = parse_number (text, '\0', &part->n);
  return text && part->i < part->n ? 0 : -1;
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

struct part_range
part_read_range (uint64_t first, uint64_t count, uint64_t size,
                 uint32_t block_size)
{
  uint64_t start = part_offset (first, size, block_size);
  uint64_t end = part_offset (first + count, size, block_size);
  uint64_t more = -end & (PART_ALIGNMENT - 1);

  if (count > 0) {
    start &= ~(PART_ALIGNMENT - 1);
    end = more < size - end ? end + more : size;
  }
  return (struct part_range) { start, end };
}

bool
part_range_has (void *opaque, uint64_t offset, uint64_t *len)
{
  const struct part_range *range = opaque;
  bool before = offset < range->start, in = !before && offset < range->end;

  *len = (before ? range->start : in ? range->end : UINT64_MAX) - offset;
  return in;
}

void
part_describe (const struct part *part, uint64_t bytes, uint64_t size,
               char text[PART_TEXT_SIZE])
{
  static const char *const units[] = { "bytes", "KiB", "MiB", "GiB" };
  unsigned i = 0;

  while (i < 3 && size > 0 && bytes % 1024 == 0 && size % 1024 == 0) {
    bytes /= 1024;
    size /= 1024;
    i++;
  }
  snprintf (text, PART_TEXT_SIZE,
            "part %" PRIu32 "/%" PRIu32 ": %" PRIu64 " of %" PRIu64 " %s",
            part->i, part->n, bytes, size, units[i]);
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
