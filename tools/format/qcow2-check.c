/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Everything that is read is untrusted.  Each table is read once, in pieces,
 * and the total size of the tables that are read is limited by the size of the
 * file.  So memory and time are limited, whatever the image contains.
 *
 * Only the data that is visible to the guest now is checked.  Refcounts,
 * internal snapshots and bitmaps are not checked.  Invalid flags in the tables
 * are not errors here: the clusters whose entries have them are left to qemu,
 * which reads or refuses them.
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "../lib/common/util.h"
#include "format/imagefile.h"
#include "format/qcow2-check.h"
#include "format/qcow2.h"

/* ---- The stream of a compressed cluster ---- */

/* Find the end of the stream of a compressed cluster of a qcow2.
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

/* ---- Compressed clusters at the end of the file ---- */

/* An L2 entry has the number of sectors of a compressed cluster.  qemu does not
 * pad the file to the end of the last sector, so a complete file can end within
 * it.  A truncated file looks the same, and qemu could decompress wrong data
 * from it without an error.  So the compressed data (the stream) is checked.
 *
 * The tail is the last bytes of the file, as many as two clusters have: no L2
 * entry can give a compressed cluster a longer range.  The tail is read once.
 * Many entries can point into it.  To limit the time, each offset is checked
 * only once, and the total length of the streams must not exceed the tail:
 * otherwise they overlap, which is an error.
 */

void
qcow2_tail_init (struct qcow2_tail *tail, const struct imagefile *file,
                 const struct qcow2 *qcow2)
{
  *tail = (struct qcow2_tail) {
    .file = file,
    .qcow2 = qcow2,
    .size = MIN (2 * qcow2_cluster_size (qcow2), file->size),
  };
}

void
qcow2_tail_destroy (struct qcow2_tail *tail)
{
  free (tail->bytes);
  free (tail->cluster);
  free (tail->complete);
}

static int
read_tail (struct qcow2_tail *tail, struct error *error)
{
  tail->bytes = malloc (tail->size);
  tail->cluster = malloc (qcow2_cluster_size (tail->qcow2));
  tail->complete = calloc (tail->size / 8 + 1, 1);
  if (!tail->bytes || !tail->cluster || !tail->complete)
    return imagefile_error (tail->file, error, "out of memory");
  return imagefile_read (tail->file, "a compressed cluster", tail->bytes,
                         tail->size, tail->file->size - tail->size, error);
}

static int
incomplete_error (const struct qcow2_tail *tail, uint64_t offset,
                  enum qcow2_stream why, struct error *error)
{
  unsigned type = tail->qcow2->compression;

  if (why == QCOW2_STREAM_NO_MEMORY)
    return imagefile_error (tail->file, error, "out of memory");
  if (why == QCOW2_STREAM_INCOMPLETE)
    return imagefile_error (tail->file, error, "the image is truncated or "
                            "corrupt: the compressed cluster at offset %"
                            PRIu64 " is not complete where the file ends "
                            "(%" PRIu64 " bytes)", offset, tail->file->size);
  if (type > QCOW2_ZSTD)
    return imagefile_error (tail->file, error, "the qcow2 image has a "
                            "compression that this version of blksum does not "
                            "support (type %u)", type);
  return imagefile_error (tail->file, error, "the file ends within a "
                          "compressed cluster, and this blksum was built "
                          "without %s, which is needed to check whether it is "
                          "truncated: if it is not, 'qemu-img convert' makes a "
                          "copy that can be read",
                          type == QCOW2_ZLIB ? "zlib" : "zstd");
}

int
qcow2_tail_check (struct qcow2_tail *tail, uint64_t offset, uint64_t len,
                  struct error *error)
{
  const struct imagefile *file = tail->file;
  enum qcow2_stream stream;
  size_t left, used;

  if (offset >= file->size)
    return imagefile_check (file, "a compressed cluster", offset, len, error);
  if (!tail->bytes && read_tail (tail, error) == -1)
    return -1;
  left = file->size - offset;   /* less than LEN, so OFFSET is in the tail */
  if (tail->complete[left / 8] >> left % 8 & 1)
    return 0;
  stream = qcow2_stream_check (tail->qcow2->compression,
                               tail->bytes + tail->size - left, left,
                               tail->cluster,
                               qcow2_cluster_size (tail->qcow2), &used);
  if (stream != QCOW2_STREAM_COMPLETE)
    return incomplete_error (tail, offset, stream, error);
  tail->complete[left / 8] |= 1 << left % 8;
  tail->used += used;
  if (tail->used > tail->size)
    return imagefile_error (file, error, "the image is corrupt: its "
                            "compressed clusters overlap");
  return 0;
}

/* ---- The image ---- */

#define CHUNK 65536             /* bytes of a table read at a time */

struct cluster_walk {
  const struct imagefile *file, *data;
  const struct qcow2 *qcow2;
  struct error *error;
  struct qcow2_count count;
  struct qcow2_tail tail;
  uint64_t l2_bytes;            /* bytes of the L2 tables seen so far */
  uint64_t prefetched;          /* number of L1 entries whose L2 tables are
                                 * prefetched */
  unsigned char l1[CHUNK], l2[CHUNK];
};

/* Check the cluster of the disk at offset GUEST, which the L2 entry at BYTES
 * maps.
 */
static int
check_cluster (struct cluster_walk *w, const unsigned char *bytes,
               uint64_t guest)
{
  const struct qcow2 *qcow2 = w->qcow2;
  struct qcow2_entry entry;
  uint64_t len;

  qcow2_entry_decode (qcow2, bytes, &entry);
  if (entry.compressed) {
    w->count.compressed++;
    return imagefile_holds (w->file, entry.host, entry.len) ? 0
      : qcow2_tail_check (&w->tail, entry.host, entry.len, w->error);
  }
  if (entry.allocated == 0)
    return 0;
  w->count.plain++;
  len = qcow2_cluster_size (qcow2) / QCOW2_SUBCLUSTERS *
    (QCOW2_SUBCLUSTERS - __builtin_clz (entry.allocated));
  return imagefile_check (w->data, "a data cluster", entry.host,
                          MIN (len, qcow2->size - guest), w->error);
}

/* Check the L2 table at OFFSET, which maps the disk from offset GUEST on. */
static int
check_l2 (struct cluster_walk *w, uint64_t offset, uint64_t guest)
{
  const struct qcow2 *qcow2 = w->qcow2;
  unsigned size = qcow2_l2_entry_size (qcow2);
  uint64_t clusters = DIV_ROUND_UP (qcow2->size - guest,
                                    qcow2_cluster_size (qcow2));
  uint64_t len = MIN (clusters, qcow2_cluster_size (qcow2) / size) * size;

  if (imagefile_check (w->file, "an L2 table", offset, len, w->error) == -1)
    return -1;
  w->l2_bytes += len;
  if (w->l2_bytes > w->file->size)
    return imagefile_error (w->file, w->error, "the image is corrupt: its L2 "
                            "tables overlap");

  for (uint64_t done = 0; done < len; done += CHUNK) {
    size_t n = MIN (len - done, CHUNK);

    if (imagefile_read (w->file, "an L2 table", w->l2, n, offset + done,
                        w->error) == -1)
      return -1;
    for (size_t i = 0; i < n; i += size) {
      if (check_cluster (w, w->l2 + i, guest) == -1)
        return -1;
      guest += qcow2_cluster_size (qcow2);
    }
  }
  return 0;
}

static int
check_tables (struct cluster_walk *w)
{
  const struct qcow2 *qcow2 = w->qcow2;
  unsigned bits = qcow2_l2_table_bits (qcow2);
  uint64_t len = qcow2_l2_tables (qcow2) * 8, guest = 0;

  for (uint64_t done = 0; done < len; done += CHUNK) {
    size_t n = MIN (len - done, CHUNK);

    if (imagefile_read (w->file, "the L1 table", w->l1, n,
                        qcow2->l1_offset + done, w->error) == -1)
      return -1;
    for (size_t i = 0; i < n; i += 8) {
      uint64_t l2_offset = be64_at (w->l1 + i) & QCOW2_OFFSET;

      qcow2_prefetch (w->file, qcow2, w->l1 + i, (done + i) / 8, (n - i) / 8,
                      &w->prefetched);
      if (l2_offset && check_l2 (w, l2_offset, guest) == -1)
        return -1;
      guest += UINT64_C (1) << bits;
    }
  }
  return 0;
}

int
qcow2_check (const struct imagefile *file, const struct imagefile *data,
             const struct qcow2 *qcow2, struct qcow2_count *count,
             struct error *error)
{
  struct cluster_walk *w = malloc (sizeof *w);
  int r;

  if (!w)
    return imagefile_error (file, error, "out of memory");
  w->file = file;
  w->data = data;
  w->qcow2 = qcow2;
  w->error = error;
  w->count = (struct qcow2_count) { 0, 0 };
  w->l2_bytes = w->prefetched = 0;
  qcow2_tail_init (&w->tail, file, qcow2);
  r = check_tables (w);
  *count = w->count;
  qcow2_tail_destroy (&w->tail);
  free (w);
  return r;
}
