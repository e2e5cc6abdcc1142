/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a vpc (VHD) image is complete and has no parent, and limit the
 * memory that qemu allocates for it.
 *
 * The image ends with a footer that has the type of the disk: fixed, dynamic,
 * or differencing, that is, with a parent.  All but fixed images have a copy of
 * the footer at the start.  If there is a copy, qemu (7.2) uses it, and reads
 * the image as a dynamic one whatever the type is, so the data of a parent
 * would be read as zeros.  So the type in the copy must be dynamic, and a
 * footer at the end, if there is one, must have the same type.
 *
 * qemu compares the end of the blocks with the size of the file, but rounds the
 * size up to a sector, so the exact size is compared here.  A fixed image ends
 * with its only footer, so a truncated one has no footer, and qemu refuses it.
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "../lib/common/numbers.h"
#include "format/imagefile.h"
#include "format/map-check.h"
#include "format/vpc.h"

#define SECTOR UINT64_C (512)
#define TYPE_OFFSET 60

enum { FIXED = 2, DYNAMIC = 3, DIFFERENCING = 4 };

/* Read the type in the footer at OFFSET.  The footer can be one byte short,
 * because old versions of Virtual PC wrote 511 bytes.  Returns 1 if there is a
 * footer, 0 if there is none, or -1 on error.
 */
static int
read_type (const struct imagefile *file, uint64_t offset, uint32_t *type,
           struct error *error)
{
  unsigned char footer[64];

  if (!imagefile_holds (file, offset, sizeof footer))
    return 0;
  if (imagefile_read (file, "the vpc footer", footer, sizeof footer, offset,
                      error) == -1)
    return -1;
  if (memcmp (footer, "conectix", 8) != 0)
    return 0;
  *type = be32_at (footer + TYPE_OFFSET);
  return 1;
}

static int
check_type (const struct imagefile *file, uint32_t type, uint32_t expected,
            struct error *error)
{
  if (type == expected)
    return 0;
  if (type == DIFFERENCING)
    return imagefile_error (file, error, "refused because it is a "
                            "differencing vpc image, which needs its parent, "
                            "and qemu does not read that: merge the two (with "
                            "Merge-VHD of Hyper-V, for instance), or use "
                            "-f raw to hash the bytes of this file");
  return imagefile_error (file, error, "refused because the vpc image is "
                          "corrupt or not supported: its disk has the type %"
                          PRIu32 ", where %" PRIu32 " is expected; -f raw "
                          "hashes the bytes of this file", type, expected);
}

/* A block is stored as a bitmap of its sectors, followed by all its sectors,
 * even those after the end of the disk.
 */
static bool
find_block (const struct map *map, uint64_t entry, uint64_t *offset,
            uint64_t *len)
{
  *offset = map_offset (0, entry, SECTOR);
  *len += ROUND_UP (map->cluster / (8 * SECTOR), SECTOR);
  return entry != UINT32_MAX;
}

/* Check the blocks, and the size of their table, because qemu reads the whole
 * table when it opens the image.
 */
static int
check_table (const struct imagefile *file, struct error *error)
{
  unsigned char footer[SECTOR], header[36];
  struct map map = {
    .file = file, .width = 4, .big_endian = true, .find_data = find_block,
  };
  uint64_t offset;
  uint32_t entries;

  if (imagefile_read (file, "the vpc footer", footer, sizeof footer, 0,
                      error) == -1 ||
      imagefile_read (file, "the vpc header", header, sizeof header,
                      be64_at (footer + 16), error) == -1)
    return -1;
  offset = be64_at (header + 16);
  entries = be32_at (header + 28);
  map.cluster = be32_at (header + 32);
  map.disk = entries * map.cluster;
  if (imagefile_check_table (file, "the block allocation table", offset,
                             UINT64_C (4) * entries, error) == -1)
    return -1;
  return map_check (&map, offset, entries, error);
}

int
vpc_check (const struct imagefile *file, struct error *error)
{
  uint64_t end = file->size > 0 ? (file->size - 1) / SECTOR * SECTOR : 0;
  uint32_t first, last;
  int dynamic = read_type (file, 0, &first, error);
  int r = dynamic == -1 ? -1 : read_type (file, end, &last, error);

  if (r == -1 ||
      (dynamic && check_type (file, first, DYNAMIC, error) == -1) ||
      (r == 1 && check_type (file, last, dynamic ? DYNAMIC : FIXED,
                             error) == -1))
    return -1;
  return dynamic ? check_table (file, error) : 0;
}
