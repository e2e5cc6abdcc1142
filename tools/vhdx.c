/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is the file of a vhdx image complete?
 *
 * qemu checks, when it opens the image, that the blocks that the block
 * allocation table (BAT) names lie inside the file, but not that the BAT
 * does: cut off it reads as zeros, as an empty disk.  And it rounds the size
 * of the file up to full sectors.  These two are checked here.  The image
 * cannot name another file: qemu refuses images with a parent.
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "imagefile.h"
#include "vhdx.h"

#define REGIONS_OFFSET 196608   /* of the region table that qemu reads */
#define REGIONS_SIZE 65536
#define MAX_REGIONS 2047
#define SECTOR 512

static const unsigned char bat_guid[16] = {
  0x66, 0x77, 0xc2, 0x2d, 0x23, 0xf6, 0x00, 0x42,
  0x9d, 0x64, 0x11, 0x5e, 0x9b, 0xfd, 0x4a, 0x08
};

int
vhdx_check (const struct imagefile *file, struct error *error)
{
  unsigned char table[REGIONS_SIZE];
  uint32_t regions;

  if (file->size % SECTOR != 0)
    return imagefile_error (file, error, "the image is truncated: the size "
                            "of the file, %" PRIu64 " bytes, is no multiple "
                            "of %d", file->size, SECTOR);
  if (imagefile_read (file, "the region table", table, sizeof table,
                      REGIONS_OFFSET, error) == -1)
    return -1;
  regions = le32_at (table + 8);
  if (memcmp (table, "regi", 4) != 0 || regions > MAX_REGIONS)
    return imagefile_error (file, error, "the vhdx region table is corrupt");

  for (uint32_t i = 0; i < regions; i++) {
    const unsigned char *region = table + 16 + i * 32;

    if (memcmp (region, bat_guid, sizeof bat_guid) == 0)
      return imagefile_check (file, "the block allocation table",
                              le64_at (region + 16), le32_at (region + 24),
                              error);
  }
  return imagefile_error (file, error, "the vhdx image has no block "
                          "allocation table");
}
