/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Find the end of the stream of a compressed cluster of a qcow2.
 *
 * If a stream is found to be complete, qemu needs only its bytes to decompress
 * the cluster, whatever is stored after them.  qemu also accepts a zlib stream
 * that continues after it has produced the whole cluster.  Such a stream is
 * refused here, because no known program writes one, and because a stream whose
 * end is truncated looks the same.
 *
 * The input is untrusted.  The output is never more than a cluster.  The stream
 * cannot choose the amount of memory, because the output buffer serves as the
 * window.
 */

#include <config.h>

#include <string.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "format/qcow2-stream.h"

#ifdef HAVE_ZLIB
static enum qcow2_stream
check_zlib (const void *in, size_t len, void *out, size_t size, size_t *used)
{
  z_stream stream;
  int r;

  memset (&stream, 0, sizeof stream);
  stream.next_in = (void *) in; /* not written to */
  stream.avail_in = len;
  stream.next_out = out;
  stream.avail_out = size;
  if (inflateInit2 (&stream, -12) != Z_OK)
    return QCOW2_STREAM_NO_MEMORY;
  r = inflate (&stream, Z_FINISH);
  *used = len - stream.avail_in;
  inflateEnd (&stream);
  if (r == Z_MEM_ERROR)
    return QCOW2_STREAM_NO_MEMORY;
  return r == Z_STREAM_END && stream.avail_out == 0
    ? QCOW2_STREAM_COMPLETE : QCOW2_STREAM_INCOMPLETE;
}
#endif

#ifdef HAVE_ZSTD
/* A cluster can consist of several frames.  For each frame, its end is located
 * first, and then the frame is decompressed in one call, which needs no window.
 */
static enum qcow2_stream
check_zstd (const unsigned char *in, size_t len, unsigned char *out,
            size_t size, size_t *used)
{
  ZSTD_DCtx *context = ZSTD_createDCtx ();

  if (!context)
    return QCOW2_STREAM_NO_MEMORY;
  for (*used = 0; size > 0;) {
    size_t frame = ZSTD_findFrameCompressedSize (in + *used, len - *used);
    size_t n;

    if (ZSTD_isError (frame) || frame == 0)
      break;
    n = ZSTD_decompressDCtx (context, out, size, in + *used, frame);
    if (ZSTD_isError (n))
      break;
    *used += frame;
    out += n;
    size -= n;
  }
  ZSTD_freeDCtx (context);
  return size == 0 ? QCOW2_STREAM_COMPLETE : QCOW2_STREAM_INCOMPLETE;
}
#endif

enum qcow2_stream
qcow2_stream_check (unsigned type, const void *in, size_t len, void *out,
                    size_t size, size_t *used)
{
  switch (type) {
#ifdef HAVE_ZLIB
  case QCOW2_ZLIB:
    return check_zlib (in, len, out, size, used);
#endif
#ifdef HAVE_ZSTD
  case QCOW2_ZSTD:
    return check_zstd (in, len, out, size, used);
#endif
  default:
    /* These parameters are unused if blksum is built with neither library. */
    (void) in, (void) len, (void) out, (void) size, (void) used;
    return QCOW2_STREAM_NO_LIBRARY;
  }
}
