/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A compressed cluster of a qcow2: where does its stream end?
 */

#ifndef BLKSUM_QCOW2_STREAM_H
#define BLKSUM_QCOW2_STREAM_H

#include <stddef.h>

/* The compression types, as they are in the header. */
#define QCOW2_ZLIB 0
#define QCOW2_ZSTD 1

enum qcow2_stream {
  QCOW2_STREAM_COMPLETE,
  QCOW2_STREAM_INCOMPLETE,      /* cut, or corrupt */
  QCOW2_STREAM_NO_LIBRARY,      /* there is none here for this type */
  QCOW2_STREAM_NO_MEMORY,
};

/* Is a stream at the start of the LEN bytes at IN, with its end and with all
 * of a cluster, SIZE bytes, which go to OUT?  *USED is its length then.
 */
enum qcow2_stream qcow2_stream_check (unsigned type, const void *in,
                                      size_t len, void *out, size_t size,
                                      size_t *used);

#endif /* BLKSUM_QCOW2_STREAM_H */
