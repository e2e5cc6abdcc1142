/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables of the formats qcow and parallels.
 *
 * qemu allocates a table of the size that the header gives, also where the
 * file has nothing of it.  What else is in these images is left to it.
 */

#include <config.h>

#include "imagefile.h"
#include "other-tables.h"

int
qcow_check_table (const struct imagefile *file, struct error *error)
{
  unsigned char head[48];
  uint64_t size;
  unsigned bits;

  if (imagefile_read (file, "the qcow header", head, sizeof head, 0,
                      error) == -1)
    return -1;
  size = be64_at (head + 24);
  bits = head[32] + head[33];   /* of a cluster, and of an L2 table */
  if (head[32] < 9 || head[32] > 16 || head[33] < 6 || head[33] > 13)
    return 0;
  return imagefile_check_table (file, "the L1 table", be64_at (head + 40),
                                ((size >> bits) +
                                 ((size & ((UINT64_C (1) << bits) - 1)) != 0))
                                * 8, error);
}

int
parallels_check_table (const struct imagefile *file, struct error *error)
{
  unsigned char head[64];

  if (imagefile_read (file, "the parallels header", head, sizeof head, 0,
                      error) == -1)
    return -1;
  return imagefile_check_table (file, "the block allocation table",
                                sizeof head,
                                UINT64_C (4) * le32_at (head + 32), error);
}
