/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check the stream, that is, the compressed data, of a compressed cluster of a
 * qcow2, and find its end.
 */

#ifndef BLKSUM_QCOW2_STREAM_H
#define BLKSUM_QCOW2_STREAM_H

#include <stddef.h>

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

#endif /* BLKSUM_QCOW2_STREAM_H */
