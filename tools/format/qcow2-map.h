/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where in its file the content of a qcow2 is.
 */

#ifndef BLKSUM_QCOW2_MAP_H
#define BLKSUM_QCOW2_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "format/pages.h"
#include "format/qcow2.h"
#include "format/run.h"

/* Can there be a map of an image with this header?  Not if its content is
 * encrypted or in another file, or the clusters are smaller than a page.
 */
static inline bool
qcow2_map_fits (const struct qcow2 *qcow2)
{
  return qcow2->cluster_bits >= PAGES_BITS && qcow2->size > 0 &&
    qcow2->size % 512 == 0 && !qcow2->encrypted && !qcow2->has_data_file &&
    qcow2->l1_offset % qcow2_cluster_size (qcow2) == 0;
}

/* What is at OFFSET of the disk, less than its size, by the tables in PAGES and
 * the header QCOW2?  All of the run lies in the disk, and in the file, if it is
 * data.  One thread at a time.  0 or -1.
 */
int qcow2_map_at (struct pages *pages, const struct qcow2 *qcow2,
                  uint64_t offset, struct run *run, struct error *error);

#endif /* BLKSUM_QCOW2_MAP_H */
