/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that the file of a qcow2 image is complete.
 */

#ifndef BLKSUM_QCOW2_CHECK_H
#define BLKSUM_QCOW2_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "format/imagefile.h"
#include "format/qcow2.h"

/* ---- The stream, that is, the compressed data, of a cluster ---- */

/* The compression types in the header. */
#define QCOW2_ZLIB 0
#define QCOW2_ZSTD 1

enum qcow2_stream {
  QCOW2_STREAM_COMPLETE,
  QCOW2_STREAM_INCOMPLETE,      /* truncated or corrupt */
  QCOW2_STREAM_NO_LIBRARY,      /* blksum was built without the library, or the
                                 * compression type is unknown */
  QCOW2_STREAM_NO_MEMORY,
};

/* Check that the LEN bytes at IN start with a complete stream that decompresses
 * to a cluster of SIZE bytes.  The decompressed cluster is stored in OUT.  If
 * the stream is complete, *USED is set to its length.
 */
enum qcow2_stream qcow2_stream_check (unsigned type, const void *in,
                                      size_t len, void *out, size_t size,
                                      size_t *used);

/* ---- Compressed clusters at the end of the file ---- */

/* The tail is the last bytes of the file, as many as two clusters have. */
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

/* ---- The image ---- */

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
