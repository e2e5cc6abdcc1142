/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that the file of a qcow2 image is complete.
 */

#ifndef BLKSUM_QCOW2_CHECK_H
#define BLKSUM_QCOW2_CHECK_H

#include <stdint.h>

#include "format/imagefile.h"
#include "format/qcow2.h"

/* The number of clusters that contain data of the disk. */
struct qcow2_count {
  uint64_t plain, compressed;
};

/* Read the L1 and L2 tables, and check that all data of the disk lies inside
 * the file that stores it.  qemu reads data outside of the file as zeros, and
 * reports success.  DATA is the external data file, or FILE if there is none.
 * *COUNT is set to the number of clusters.  Returns 0, or -1 on error.
 */
int qcow2_check (const struct imagefile *file, const struct imagefile *data,
                 const struct qcow2 *qcow2, struct qcow2_count *count,
                 struct error *error);

#endif /* BLKSUM_QCOW2_CHECK_H */
