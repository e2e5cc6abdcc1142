/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Write the records of a manifest, as leaves arrive.
 *
 * A record is assembled in a buffer, because it begins with the number of its
 * leaves.  The header is written when the first record begins, unless the size
 * of the image is unknown.  The buffer is written at the end, and when a record
 * of leaves ends and the buffer has WRITE_SIZE bytes or more.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "manifest/crc32c.h"
#include "manifest/manifest-writer.h"

#define WRITE_SIZE (256 * 1024) /* bytes; minimum size of a write */

static int
append_number (struct blkhash_manifest_writer *w, uint64_t value, size_t size)
{
  unsigned char *bytes = manifest_output_append (&w->output, size);

  if (!bytes)
    return ENOMEM;
  manifest_put (bytes, value, size);
  return 0;
}

int
manifest_writer_head (struct blkhash_manifest_writer *w, uint64_t first,
                      uint64_t count)
{
  int err;

  /* Write the header now, so that the reader of a pipe can begin. */
  if (first == w->header.first && !w->header_last) {
    err = manifest_output_write (&w->output);
    if (err)
      return err;
  }
  w->record = w->output.used;
  err = append_number (w, first, 8);
  return err ? err : append_number (w, count, 8);
}

int
manifest_writer_tail (struct blkhash_manifest_writer *w, uint32_t crc)
{
  int err;

  crc = crc32c (crc, w->output.buf + w->record, w->output.used - w->record);
  err = append_number (w, crc, 4);
  return err ? err : append_number (w, 0, 4);
}

int
manifest_writer_close_leaves (struct blkhash_manifest_writer *w)
{
  int err;

  if (w->leaves == 0)
    return 0;
  manifest_put (w->output.buf + w->record + 8, w->leaves, 8);
  w->leaves = 0;
  err = manifest_writer_tail (w, 0);
  if (err == 0 && w->output.used >= WRITE_SIZE)
    err = manifest_output_write (&w->output);
  return err;
}

int
manifest_writer_close_zeros (struct blkhash_manifest_writer *w)
{
  uint64_t count = w->zeros;
  int err;

  if (count == 0)
    return 0;
  w->zeros = 0;
  err = manifest_writer_head (w, w->next - count, count | MANIFEST_ZERO_RUN);
  return err ? err : manifest_writer_tail (w, 0);
}

int
manifest_writer_leaves (struct blkhash_manifest_writer *w,
                        const unsigned char *leaves, size_t count)
{
  unsigned char *bytes;
  int err;

  if (w->leaves == 0) {
    err = manifest_writer_head (w, w->next, 0);
    if (err)
      return err;
  }
  bytes = manifest_output_append (&w->output, count * w->leaf_size);
  if (!bytes)
    return ENOMEM;
  memcpy (bytes, leaves, count * w->leaf_size);
  w->leaves += count;
  w->next += count;
  if (w->leaves < MANIFEST_MAX_LEAVES)
    return 0;
  return manifest_writer_close_leaves (w);
}
