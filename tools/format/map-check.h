/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For image formats that qemu reads: check that the file contains all data that
 * the tables of the image point to, because qemu reads data beyond the end of
 * the file as zeros, without an error.
 *
 * A map is a table with an entry for each cluster of the disk, or a table of
 * such tables.
 */

#ifndef BLKSUM_MAP_CHECK_H
#define BLKSUM_MAP_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "format/imagefile.h"

struct map {
  const struct imagefile *file;
  unsigned width;               /* bytes of an entry, 4 or 8 */
  bool big_endian;
  uint64_t cluster, disk;       /* sizes in bytes */
  uint64_t entries;             /* number of entries of each table to which a
                                 * table of tables points */
  uint64_t table_start, data_start, multiplier; /* for the format's own
                                 * FIND_DATA and FIND_TABLE */

  /* Set *OFFSET to the offset of the data that ENTRY points to.  The caller has
   * set *LEN to the length of the cluster, up to the end of the disk; change it
   * if the stored data has another length.  Returns false if there is no data.
   */
  bool (*find_data) (const struct map *map, uint64_t entry, uint64_t *offset,
                     uint64_t *len);

  /* The same for a table that an entry of a table of tables points to.  If this
   * is NULL, the entry is the offset of the table, or 0 if there is none.
   */
  bool (*find_table) (const struct map *map, uint64_t entry,
                      uint64_t *offset);
};

/* Check the data that a table points to.  The table is at OFFSET in the file,
 * and has ENTRIES entries; those for clusters after the end of the disk are
 * ignored.  A table that is too short for the disk is not an error.  Returns 0,
 * or -1 on error.
 */
int map_check (const struct map *map, uint64_t offset, uint64_t entries,
               struct error *error);

/* The same for a table of tables.  It is an error if the tables together are
 * larger than the file.  So the size of the file limits the time of the check.
 */
int map_check_tables (const struct map *map, uint64_t offset,
                      uint64_t entries, struct error *error);

/* Returns BASE + N * SIZE; or, if that is too large, UINT64_MAX, an offset at
 * which no file contains data.
 */
uint64_t map_offset (uint64_t base, uint64_t n, uint64_t size);

#endif /* BLKSUM_MAP_CHECK_H */
