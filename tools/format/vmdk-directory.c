/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Limits of the grain directories of the vmdk formats of ESX.
 *
 * qemu allocates a directory of the size that is recorded in the header.  If
 * the file is truncated within the directory, qemu reads the rest as zeros, and
 * the truncated image would have a sum.  The grains are not checked: qemu reads
 * those beyond the end of the file as zeros.
 */

#include <config.h>

#include "format/imagefile.h"
#include "format/vmdk-directory.h"

#define SECTOR UINT64_C (512)
#define MAX_SECTORS (INT64_MAX / SECTOR)

int
vmdk_cowd_directory (const struct imagefile *file, uint64_t *memory,
                     struct error *error)
{
  unsigned char head[28];

  if (imagefile_read (file, "the vmdk header", head, sizeof head, 0,
                      error) == -1)
    return -1;
  *memory = UINT64_C (4) * le32_at (head + 24);
  return imagefile_check_table (file, "the grain directory",
                                le32_at (head + 20) * SECTOR, *memory, error);
}

int
vmdk_sesparse_directory (const struct imagefile *file, uint64_t *memory,
                         struct error *error)
{
  unsigned char head[144];
  uint64_t offset, sectors;

  if (imagefile_read (file, "the vmdk header", head, sizeof head, 0,
                      error) == -1)
    return -1;
  offset = le64_at (head + 128);
  sectors = le64_at (head + 136);
  if (offset > MAX_SECTORS || sectors > MAX_SECTORS)
    return imagefile_error (file, error, "the vmdk header is corrupt: its "
                            "grain directory is too large");
  *memory = sectors * SECTOR;
  return imagefile_check_table (file, "the grain directory", offset * SECTOR,
                                *memory, error);
}
