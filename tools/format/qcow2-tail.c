/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An L2 entry has the number of sectors of a compressed cluster.  qemu does not
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

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>

#include "../lib/common/util.h"
#include "format/qcow2-stream.h"
#include "format/qcow2-tail.h"
#include "format/qcow2.h"

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
