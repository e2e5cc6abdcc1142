/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Decode an entry of an L2 table of a qcow2.  Such an entry maps a cluster of
 * the disk.
 */

#ifndef BLKSUM_QCOW2_ENTRY_H
#define BLKSUM_QCOW2_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "format/qcow2.h"

#define QCOW2_SUBCLUSTERS 32

struct qcow2_entry {
  bool compressed;
  bool regular;                 /* no reserved bit of the entry is set, and all
                                 * its fields are valid */
  uint64_t host;                /* offset of the data of the cluster in the
                                 * file */
  uint64_t len;                 /* length of this data, only if COMPRESSED */

  /* If the cluster is not compressed: the bitmap of the subclusters whose data
   * is stored at HOST, and the bitmap of those that read as zeros.  The other
   * subclusters are unallocated.  Without extended L2 entries all bits of a
   * bitmap are equal.
   */
  uint32_t allocated, zero;
};

/* Decode the entry at BYTES.  An irregular entry is decoded as qemu decodes it,
 * because qemu does not check every reserved bit and may read the cluster.
 */
void qcow2_entry_decode (const struct qcow2 *qcow2,
                         const unsigned char *bytes,
                         struct qcow2_entry *entry);

#endif /* BLKSUM_QCOW2_ENTRY_H */
