/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A compressed cluster of a qcow2: where does its stream end?
 *
 * What passes here qemu decompresses, from these bytes alone and whatever is
 * behind them.  qemu also takes a stream of zlib that gives a cluster and goes
 * on; nobody writes such, and one whose end is cut off looks the same.
 *
 * The input is untrusted.  Never more than a cluster comes out, and memory
 * does not depend on what the stream asks for: there is no window beside the
 * output, whose size would be the stream's to choose.
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
/* A cluster can be several frames.  Each is looked for to its end first, then
 * decompressed in one call, which needs no window.
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
    /* Unused where there is no library at all. */
    (void) in, (void) len, (void) out, (void) size, (void) used;
    return QCOW2_STREAM_NO_LIBRARY;
  }
}
