/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is the file of a qcow2 image complete?
 */

#ifndef BLKSUM_QCOW2_CHECK_H
#define BLKSUM_QCOW2_CHECK_H

#include <stdint.h>

#include "format/imagefile.h"
#include "format/qcow2.h"

/* Clusters that the disk's content is read from. */
struct qcow2_count {
  uint64_t plain, compressed;
};

/* Walk the L1 and L2 tables and check that everything that the disk's content
 * is read from lies inside its file: qemu reads what does not as zeros and
 * reports success.  DATA is the external data file, the same as FILE if there
 * is none, or NULL if it cannot be checked.  The clusters are counted.  0 or
 * -1.
 */
int qcow2_check (const struct imagefile *file, const struct imagefile *data,
                 const struct qcow2 *qcow2, struct qcow2_count *count,
                 struct error *error);

#endif /* BLKSUM_QCOW2_CHECK_H */
