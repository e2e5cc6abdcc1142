/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Map offsets of a qcow2 disk to offsets in its file.
 */

#ifndef BLKSUM_QCOW2_MAP_H
#define BLKSUM_QCOW2_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "format/pages.h"
#include "format/qcow2.h"
#include "format/run.h"

/* Returns true if an image with this header can be mapped.  It cannot be mapped
 * if the content is encrypted or in another file, if clusters are smaller than
 * a page (see pages.h), if the disk is empty or does not end with a whole
 * sector, or if the L1 table is not aligned to a cluster.
 */
static inline bool
qcow2_map_fits (const struct qcow2 *qcow2)
{
  return qcow2->cluster_bits >= PAGES_BITS && qcow2->size > 0 &&
    qcow2->size % 512 == 0 && !qcow2->encrypted && !qcow2->has_data_file &&
    qcow2->l1_offset % qcow2_cluster_size (qcow2) == 0;
}

/* Map OFFSET on the disk, which must be less than the size of the disk: set RUN
 * to the run that starts there, according to the tables in PAGES and the header
 * QCOW2.  The run does not pass the end of the disk.  A run of data that passes
 * the end of the file is an error.  Only one thread at a time may use PAGES.
 * Returns 0, or -1 on error.
 */
int qcow2_map_at (struct pages *pages, const struct qcow2 *qcow2,
                  uint64_t offset, struct run *run, struct error *error);

#endif /* BLKSUM_QCOW2_MAP_H */
