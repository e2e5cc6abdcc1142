/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Decode an entry of an L2 table of a qcow2, which describes a cluster.
 */

#ifndef BLKSUM_QCOW2_ENTRY_H
#define BLKSUM_QCOW2_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "format/qcow2.h"

#define QCOW2_SUBCLUSTERS 32

struct qcow2_entry {
  bool compressed;
  bool regular;                 /* no reserved bit is set, and nothing is
                                 * invalid */
  uint64_t host;                /* offset of its bytes in the file */
  uint64_t len;                 /* number of these bytes, if it is compressed */

  /* If it is not compressed: bitmaps of the subclusters that have bytes in the
   * file, and of those that read as zeros.  The others are unallocated.
   * Without extended L2 entries all bits are the same.
   */
  uint32_t allocated, zero;
};

/* Decode the entry at BYTES.  An irregular entry is decoded as by qemu, which
 * does not check every reserved bit.
 */
void qcow2_entry_decode (const struct qcow2 *qcow2,
                         const unsigned char *bytes,
                         struct qcow2_entry *entry);

#endif /* BLKSUM_QCOW2_ENTRY_H */
