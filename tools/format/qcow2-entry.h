/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an entry of an L2 table of a qcow2 says of its cluster.
 */

#ifndef BLKSUM_QCOW2_ENTRY_H
#define BLKSUM_QCOW2_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "format/qcow2.h"

#define QCOW2_SUBCLUSTERS 32

struct qcow2_entry {
  bool compressed;
  bool regular;                 /* with nothing that is reserved or wrong */
  uint64_t host;                /* where in the file its bytes are */
  uint64_t len;                 /* and how many, if it is compressed */

  /* If it is not: a bit for each subcluster that has bytes in the file, and for
   * each that reads as zeros; the others are not allocated.  Without
   * subclusters all are alike.
   */
  uint32_t allocated, zero;
};

/* Decode the entry at BYTES.  What is not regular is decoded as qemu does,
 * which does not look at each reserved bit.
 */
void qcow2_entry_decode (const struct qcow2 *qcow2,
                         const unsigned char *bytes,
                         struct qcow2_entry *entry);

#endif /* BLKSUM_QCOW2_ENTRY_H */
