/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that images in the sparse vmdk formats of ESX are complete, and that
 * their grain directories are not too large.
 *
 * qemu (7.2 to 10) allocates a directory of the size that is recorded in the
 * header.  It reads zeros beyond the end of the file, in grains that the
 * directory does not map, and for invalid entries.
 *
 * In a COWD image, an entry of the directory is the sector of a grain table,
 * and an entry of a table is the sector of a grain.  SESPARSE is not documented
 * by its vendor; it is checked as qemu reads it: an entry of the directory has
 * the number of a grain table, and an entry of a table the number of a grain.
 * The low 12 bits of a grain number are in bits 48 to 59 of the entry, and the
 * high bits in bits 0 to 47.  Bits 60 to 63 of an entry are its type.
 */

#include <config.h>

#include "format/imagefile.h"
#include "format/map-check.h"
#include "format/vmdk-esx.h"

#define SECTOR UINT64_C (512)
#define MAX_SECTORS (INT64_MAX / SECTOR)
#define TABLE_ENTRIES 4096      /* of a grain table, in both formats */
#define SESPARSE_GRAIN (8 * SECTOR) /* qemu accepts no other size */
#define SESPARSE_MAGIC UINT64_C (0xcafebabe)

/* Check the directory at OFFSET, the grain tables and the grains. */
static int
check_directory (const struct map *map, uint64_t offset, uint64_t len,
                 struct error *error)
{
  uint64_t entries = len / map->width;

  if (imagefile_check_table (map->file, "the grain directory", offset, len,
                             error) == -1)
    return -1;
  if (map_offset (0, entries, map->entries * map->cluster) < map->disk)
    return imagefile_error (map->file, error, "the vmdk header is corrupt: "
                            "its grain directory is too small");
  return map_check_tables (map, offset, entries, error);
}

static bool
cowd_table (const struct map *map, uint64_t entry, uint64_t *offset)
{
  (void) map;
  *offset = entry * SECTOR;
  return entry != 0;
}

static bool
cowd_data (const struct map *map, uint64_t entry, uint64_t *offset,
           uint64_t *len)
{
  (void) len;
  return cowd_table (map, entry, offset);
}

int
vmdk_cowd_check (const struct imagefile *file, uint64_t *memory,
                 struct error *error)
{
  unsigned char head[28];
  struct map map = {
    .file = file, .width = 4, .entries = TABLE_ENTRIES,
    .find_data = cowd_data, .find_table = cowd_table,
  };

  if (imagefile_read (file, "the vmdk header", head, sizeof head, 0,
                      error) == -1)
    return -1;
  map.disk = le32_at (head + 12) * SECTOR;
  map.cluster = le32_at (head + 16) * SECTOR;
  *memory = UINT64_C (4) * le32_at (head + 24);
  return check_directory (&map, le32_at (head + 20) * SECTOR, *memory, error);
}

/* An entry of the directory is 0 if there is no table.  Otherwise its type must
 * be 1, and its low 32 bits are the number of the table.  For an invalid entry
 * *OFFSET is set beyond the end of any file, so that an error is reported.
 */
static bool
sesparse_table (const struct map *map, uint64_t entry, uint64_t *offset)
{
  *offset = entry >> 32 == UINT32_C (0x10000000)
    ? map_offset (map->table_start, (uint32_t) entry, TABLE_ENTRIES * 8)
    : UINT64_MAX;
  return entry != 0;
}

static bool
sesparse_data (const struct map *map, uint64_t entry, uint64_t *offset,
               uint64_t *len)
{
  uint64_t type = entry >> 60;
  uint64_t grain = (entry >> 48 & 0xfff) |
    (entry & UINT64_C (0xffffffffffff)) << 12;

  (void) len;
  *offset = type == 3 ? map_offset (map->data_start, grain, SESPARSE_GRAIN)
    : UINT64_MAX;
  return entry != 0 && type != 1 && type != 2; /* 1, 2: zeros */
}

int
vmdk_sesparse_check (const struct imagefile *file, uint64_t *memory,
                     struct error *error)
{
  unsigned char head[200];
  uint64_t offset, sectors;
  struct map map = {
    .file = file, .width = 8, .entries = TABLE_ENTRIES,
    .cluster = SESPARSE_GRAIN,
    .find_data = sesparse_data, .find_table = sesparse_table,
  };

  if (imagefile_read (file, "the vmdk header", head, sizeof head, 0,
                      error) == -1)
    return -1;
  offset = le64_at (head + 128);
  sectors = le64_at (head + 136);
  if (le64_at (head) != SESPARSE_MAGIC || offset > MAX_SECTORS ||
      sectors > MAX_SECTORS)
    return imagefile_error (file, error, "the vmdk header is corrupt");
  *memory = sectors * SECTOR;
  map.disk = map_offset (0, le64_at (head + 16), SECTOR);
  map.table_start = map_offset (0, le64_at (head + 144), SECTOR);
  map.data_start = map_offset (0, le64_at (head + 192), SECTOR);
  return check_directory (&map, offset * SECTOR, *memory, error);
}
