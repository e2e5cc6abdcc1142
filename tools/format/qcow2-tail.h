/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check the compressed clusters at the end of the file of a qcow2.  The tail is
 * the last bytes of the file, as many as two clusters have; a stream is the
 * compressed data of a cluster.
 */

#ifndef BLKSUM_QCOW2_TAIL_H
#define BLKSUM_QCOW2_TAIL_H

#include <stddef.h>
#include <stdint.h>

#include "format/imagefile.h"
#include "format/qcow2.h"

struct qcow2_tail {
  const struct imagefile *file;
  const struct qcow2 *qcow2;
  size_t size;                  /* size of the tail in bytes */
  unsigned char *bytes;         /* content of the tail; NULL before the first
                                 * check */
  unsigned char *cluster;       /* buffer for a decompressed cluster */
  unsigned char *complete;      /* bitmap: bit N is set if a complete stream
                                 * starts N bytes before the end of the file */
  size_t used;                  /* total length of these streams */
};

/* FILE and QCOW2, its header, must exist until qcow2_tail_destroy. */
void qcow2_tail_init (struct qcow2_tail *tail, const struct imagefile *file,
                      const struct qcow2 *qcow2);

void qcow2_tail_destroy (struct qcow2_tail *tail);

/* Check that the compressed cluster at OFFSET is complete.  LEN is the length
 * in the L2 entry of the cluster.  Call this only if the file ends before
 * OFFSET + LEN.  Returns 0, or -1 on error.
 */
int qcow2_tail_check (struct qcow2_tail *tail, uint64_t offset, uint64_t len,
                      struct error *error);

#endif /* BLKSUM_QCOW2_TAIL_H */
