/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a file contains all data that the tables of an image point to.
 *
 * Tables are read in chunks, so the memory does not depend on what is recorded
 * in the image.  Whether data overlaps is not checked.
 */

#include <config.h>

#include "../lib/common/numbers.h"
#include "format/map-check.h"

#define CHUNK 16384             /* bytes of a table in one read */

/* The check of a part of the disk. */
struct part {
  const struct map *map;
  uint64_t guest, end;          /* the next entry maps the disk from GUEST on;
                                 * the part ends at END */
  uint64_t table_bytes;         /* total size of the tables that were read */
};

/* Checks the data or the table that ENTRY points to, and advances PART->guest
 * past the part of the disk that ENTRY maps.
 */
typedef int entry_function (struct part *part, uint64_t entry,
                            struct error *error);

uint64_t
map_offset (uint64_t base, uint64_t n, uint64_t size)
{
  uint64_t offset;

  return __builtin_mul_overflow (n, size, &offset) ||
    __builtin_add_overflow (base, offset, &offset) ? UINT64_MAX : offset;
}

static uint64_t
entry_at (const struct map *map, const unsigned char *p)
{
  if (map->width == 4)
    return map->big_endian ? be32_at (p) : le32_at (p);
  return map->big_endian ? be64_at (p) : le64_at (p);
}

/* Call FUNCTION for the entries of a table, up to the end of PART. */
static int
for_each_entry (struct part *part, uint64_t offset, uint64_t entries,
                entry_function *function, struct error *error)
{
  const struct map *map = part->map;
  unsigned char chunk[CHUNK];

  while (entries > 0 && part->guest < part->end) {
    uint64_t n = MIN (entries, CHUNK / map->width);

    if (imagefile_read (map->file, "a table", chunk, n * map->width, offset,
                        error) == -1)
      return -1;
    for (size_t i = 0; i < n && part->guest < part->end; i++)
      if (function (part, entry_at (map, chunk + i * map->width),
                    error) == -1)
        return -1;
    entries -= n;
    offset += n * map->width;
  }
  return 0;
}

static int
check_data (struct part *part, uint64_t entry, struct error *error)
{
  const struct map *map = part->map;
  uint64_t used = MIN (map->cluster, part->end - part->guest);
  uint64_t offset, len = used;

  part->guest += used;
  if (!map->find_data (map, entry, &offset, &len))
    return 0;
  return imagefile_check (map->file, "a cluster", offset, len, error);
}

static int
check_table (struct part *part, uint64_t entry, struct error *error)
{
  const struct map *map = part->map;
  uint64_t mapped = map_offset (0, map->entries, map->cluster);
  struct part covered = { .map = map, .guest = part->guest };
  uint64_t offset = entry;

  part->guest += MIN (mapped, part->end - part->guest);
  covered.end = part->guest;
  if (!(map->find_table ? map->find_table (map, entry, &offset) : entry != 0))
    return 0;
  /* qemu reads the whole table. */
  if (imagefile_check (map->file, "a table", offset,
                       map->entries * map->width, error) == -1)
    return -1;
  part->table_bytes += map->entries * map->width;
  if (part->table_bytes > map->file->size)
    return imagefile_error (map->file, error, "the image is corrupt: its "
                            "tables overlap");
  return for_each_entry (&covered, offset, map->entries, check_data, error);
}

int
map_check (const struct map *map, uint64_t offset, uint64_t entries,
           struct error *error)
{
  struct part all = { .map = map, .end = map->disk };

  return for_each_entry (&all, offset, entries, check_data, error);
}

int
map_check_tables (const struct map *map, uint64_t offset, uint64_t entries,
                  struct error *error)
{
  struct part all = { .map = map, .end = map->disk };

  return for_each_entry (&all, offset, entries, check_table, error);
}
