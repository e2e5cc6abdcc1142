/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Write a manifest, as leaves arrive.  All of this runs in the calling thread,
 * and one thread at a time uses a writer.
 *
 * The leaves of a sink are cut to the blocks of the manifest, added to the sum,
 * and appended to records in a buffer.  A record is assembled there, because it
 * begins with the number of its leaves.  The file does not depend on how the
 * leaves are divided into calls: a record of data ends where zeros begin, or
 * when it is full, and a record of zeros ends where data begins.
 *
 * The header is written when the first record begins, unless the size of the
 * image is unknown; then its space is reserved, and it is written last.  The
 * buffer is written at the end, and when a record of leaves ends and the buffer
 * has WRITE_SIZE bytes or more.
 *
 * Functions that return int return 0, ENOMEM, the error of write(2), or that of
 * the digest (EIO).
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "blkhash-manifest.h"
#include "common/util.h"
#include "construction/opts.h"
#include "digest/digest.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest-sum.h"
#include "manifest/manifest.h"

#define FIRST_SIZE 1024         /* initial size of the buffer, bytes */
#define WRITE_SIZE (256 * 1024) /* bytes; minimum size of a write */

/* Buffered output to a file or pipe, from its current offset. */
struct manifest_output {
  int fd;
  unsigned char *buf;
  size_t size, used;            /* bytes of BUF, and bytes of it that are not
                                 * written yet */
};

struct blkhash_manifest_writer {
  struct manifest_output output;
  off_t start;                  /* offset of the header, if HEADER_LAST */
  struct blkhash_opts opts;
  struct manifest_header header;
  bool header_last;             /* the size is unknown until the end, so the
                                 * header is written last */
  size_t leaf_size;
  uint64_t next;                /* index of the next block */
  uint64_t first, end;          /* blocks outside of this range are ignored */
  int error;                    /* the first error */

  struct manifest_zeros zeros_leaves;
  struct manifest_sum *sum;     /* sum of the blocks before NEXT, or NULL */
  bool zero_last;               /* block NEXT - 1, which is zero, is not in SUM
                                 * yet */
  bool finished;

  size_t record;                /* start of the open record in OUTPUT */
  size_t leaves;                /* number of leaves in it; 0 if no record is
                                 * open */
  uint64_t zeros;               /* number of zero blocks before NEXT that are in
                                 * no record yet */
};

/* ---- The buffer ---- */

/* Returns 0 or ENOMEM. */
static int
output_init (struct manifest_output *output, int fd)
{
  *output = (struct manifest_output) {
    .fd = fd, .buf = malloc (FIRST_SIZE), .size = FIRST_SIZE
  };
  return output->buf ? 0 : ENOMEM;
}

static void
output_destroy (struct manifest_output *output)
{
  free (output->buf);
}

/* Append LEN bytes for the caller to fill, and return their address, which is
 * valid until the next call.  Returns NULL if there is no memory.
 */
static unsigned char *
output_append (struct manifest_output *output, size_t len)
{
  unsigned char *bytes;

  if (len > output->size - output->used) {
    size_t size = 2 * output->size;

    while (size - output->used < len)
      size *= 2;
    bytes = realloc (output->buf, size);
    if (!bytes)
      return NULL;
    output->buf = bytes;
    output->size = size;
  }
  bytes = output->buf + output->used;
  output->used += len;
  return bytes;
}

/* Write the buffer.  Returns 0, or the error of write(2).  After an error the
 * caller must not write again, because part of the buffer may be in the file.
 */
static int
output_write (struct manifest_output *output)
{
  size_t done = 0;

  while (done < output->used) {
    ssize_t n = write (output->fd, output->buf + done, output->used - done);

    if (n == -1 && errno != EINTR)
      return errno;
    if (n > 0)
      done += n;
  }
  output->used = 0;
  return 0;
}

/* ---- Records ---- */

static int
append_number (struct blkhash_manifest_writer *w, uint64_t value, size_t size)
{
  unsigned char *bytes = output_append (&w->output, size);

  if (!bytes)
    return ENOMEM;
  manifest_put (bytes, value, size);
  return 0;
}

/* Append the head of a record.  FIRST is MANIFEST_END for the end record. */
static int
append_head (struct blkhash_manifest_writer *w, uint64_t first, uint64_t count)
{
  int err;

  /* Write the header now, so that the reader of a pipe can begin. */
  if (first == w->header.first && !w->header_last) {
    err = output_write (&w->output);
    if (err)
      return err;
  }
  w->record = w->output.used;
  err = append_number (w, first, 8);
  return err ? err : append_number (w, count, 8);
}

/* End the record.  Its CRC continues from CRC, which is the CRC of the header
 * for the end record, and 0 for all other records.
 */
static int
append_tail (struct blkhash_manifest_writer *w, uint32_t crc)
{
  int err;

  crc = crc32c (crc, w->output.buf + w->record, w->output.used - w->record);
  err = append_number (w, crc, 4);
  return err ? err : append_number (w, 0, 4);
}

/* End the open record of leaves, if there is one. */
static int
close_leaves (struct blkhash_manifest_writer *w)
{
  int err;

  if (w->leaves == 0)
    return 0;
  manifest_put (w->output.buf + w->record + 8, w->leaves, 8);
  w->leaves = 0;
  err = append_tail (w, 0);
  if (err == 0 && w->output.used >= WRITE_SIZE)
    err = output_write (&w->output);
  return err;
}

/* Append a record of zeros if W->zeros is not 0. */
static int
close_zeros (struct blkhash_manifest_writer *w)
{
  uint64_t count = w->zeros;
  int err;

  if (count == 0)
    return 0;
  w->zeros = 0;
  err = append_head (w, w->next - count, count | MANIFEST_ZERO_RUN);
  return err ? err : append_tail (w, 0);
}

/* Append the leaves of the next COUNT blocks, which must fit in the open
 * record, or in a new one if no record is open.
 */
static int
append_leaves (struct blkhash_manifest_writer *w, const unsigned char *leaves,
               size_t count)
{
  unsigned char *bytes;
  int err;

  if (w->leaves == 0) {
    err = append_head (w, w->next, 0);
    if (err)
      return err;
  }
  bytes = output_append (&w->output, count * w->leaf_size);
  if (!bytes)
    return ENOMEM;
  memcpy (bytes, leaves, count * w->leaf_size);
  w->leaves += count;
  w->next += count;
  if (w->leaves < MANIFEST_MAX_LEAVES)
    return 0;
  return close_leaves (w);
}

/* ---- The sum ----
 *
 * If sum_begin was not called, because this is the manifest of a part, the
 * other functions do nothing.
 */

static int
init_zeros (struct blkhash_manifest_writer *w, uint64_t size)
{
  int err = manifest_zeros_init (&w->zeros_leaves, &w->opts, size);

  return err ? err : manifest_zeros_hash (&w->zeros_leaves);
}

/* While the size is unknown, only the leaf of a full block of zeros is needed.
 */
static int
sum_begin (struct blkhash_manifest_writer *w)
{
  int err = init_zeros (w, w->header_last ? 0 : w->header.size);

  if (err)
    return err;
  w->sum = manifest_sum_create (&w->opts, &w->zeros_leaves);
  return w->sum ? 0 : errno;
}

static int
sum_last_zero (struct blkhash_manifest_writer *w)
{
  if (!w->sum || !w->zero_last)
    return 0;
  w->zero_last = false;
  return manifest_sum_zeros (w->sum, 1);
}

/* Add the next COUNT blocks, which are data. */
static int
sum_data (struct blkhash_manifest_writer *w, const unsigned char *leaves,
          size_t count)
{
  int err = sum_last_zero (w);

  return err || !w->sum ? err : manifest_sum_leaves (w->sum, leaves, count);
}

/* Add the next COUNT blocks, which are zeros.
 *
 * The last block of a run of zeros is added to the sum only when more blocks
 * follow, or at the end: while the size of the image is unknown, it may be the
 * short last block of the image, which has a different leaf.
 */
static int
sum_zeros (struct blkhash_manifest_writer *w, uint64_t count)
{
  if (!w->sum)
    return 0;
  count -= !w->zero_last;
  w->zero_last = true;
  return count > 0 ? manifest_sum_zeros (w->sum, count) : 0;
}

/* Store the sum in MD.  Called at the end, when the size is known. */
static int
sum_final (struct blkhash_manifest_writer *w, unsigned char *md)
{
  uint64_t size = w->header.size;
  int err = 0;

  if (!w->sum)
    return 0;
  if (w->header_last && w->zero_last)
    err = init_zeros (w, size);
  if (err == 0)
    err = sum_last_zero (w);
  return err ? err : manifest_sum_final (w->sum, size, md);
}

/* ---- The sink ---- */

/* Limit COUNT blocks from *INDEX on to the part of the image that is written.
 * Returns the number of these blocks that are in the part, and sets *INDEX to
 * the first of those.
 */
static uint64_t
cut_to_part (const struct blkhash_manifest_writer *w, uint64_t *index,
             uint64_t count)
{
  if (*index < w->first) {
    uint64_t before = w->first - *index;

    if (count <= before)
      return 0;
    *index = w->first;
    count -= before;
  }
  if (*index >= w->end)
    return 0;
  return MIN (count, w->end - *index);
}

static int
write_data (void *opaque, uint64_t index, size_t count,
            const unsigned char *leaves, size_t leaf_size)
{
  struct blkhash_manifest_writer *w = opaque;
  uint64_t from = index;

  count = cut_to_part (w, &index, count);
  if (count == 0)
    return w->error;
  leaves += (index - from) * leaf_size;
  if (w->error == 0 && (w->finished || index != w->next ||
                        leaf_size != w->leaf_size))
    w->error = EINVAL;
  if (w->error == 0)
    w->error = sum_data (w, leaves, count);
  if (w->error == 0)
    w->error = close_zeros (w);
  while (count > 0 && w->error == 0) {
    size_t room = MANIFEST_MAX_LEAVES - w->leaves;
    size_t n = MIN (count, room);

    w->error = append_leaves (w, leaves, n);
    leaves += n * leaf_size;
    count -= n;
  }
  return w->error;
}

static int
write_zeros (void *opaque, uint64_t index, uint64_t count)
{
  struct blkhash_manifest_writer *w = opaque;

  count = cut_to_part (w, &index, count);
  if (count == 0)
    return w->error;
  if (w->error == 0 && (w->finished || index != w->next))
    w->error = EINVAL;
  if (w->error == 0)
    w->error = sum_zeros (w, count);
  if (w->error == 0)
    w->error = close_leaves (w);
  w->zeros += count;
  w->next += count;
  return w->error;
}

struct blkhash_leaf_sink
blkhash_manifest_writer_sink (struct blkhash_manifest_writer *w)
{
  return (struct blkhash_leaf_sink) {
    .data = write_data, .zero = write_zeros, .opaque = w
  };
}

/* ---- The header and the end ---- */

/* Check that the descriptor is writable, and not in append mode if the header
 * is written last.  This is done when the writer is created, and not after
 * hours of hashing.
 */
static int
check_fd (const struct blkhash_manifest_writer *w)
{
  int flags = fcntl (w->output.fd, F_GETFL);

  if (flags == -1)
    return errno;
  if ((flags & O_ACCMODE) != O_WRONLY && (flags & O_ACCMODE) != O_RDWR)
    return EBADF;
  return w->header_last && flags & O_APPEND ? EINVAL : 0;
}

/* Print the header, or reserve its space if the size is unknown. */
static int
begin (struct blkhash_manifest_writer *w)
{
  unsigned char *bytes = output_append (&w->output, MANIFEST_HEADER_SIZE);
  int err;

  if (!bytes)
    return ENOMEM;
  w->header_last = w->header.size == BLKHASH_SIZE_UNKNOWN;
  err = check_fd (w);
  if (err)
    return err;
  if (!w->header_last) {
    manifest_header_print (&w->header, bytes);
    return 0;
  }
  memset (bytes, 0, MANIFEST_HEADER_SIZE);
  w->start = lseek (w->output.fd, 0, SEEK_CUR);
  return w->start == -1 ? errno : 0;
}

int
manifest_writer_set_plan (struct blkhash_manifest_writer *w, const char *plan)
{
  if (w->header_last || w->next != w->header.first ||
      w->output.used != MANIFEST_HEADER_SIZE)
    return EINVAL;
  memcpy (w->header.plan, plan, MANIFEST_PLAN_DIGITS);
  manifest_header_print (&w->header, w->output.buf);
  return 0;
}

static int
write_header (struct blkhash_manifest_writer *w, const unsigned char *bytes)
{
  size_t done = 0;

  while (done < MANIFEST_HEADER_SIZE) {
    ssize_t n = pwrite (w->output.fd, bytes + done,
                        MANIFEST_HEADER_SIZE - done, w->start + done);

    if (n == -1 && errno != EINTR)
      return errno;
    if (n > 0)
      done += n;
  }
  return 0;
}

/* Returns the length of the sum; 0 if this is the manifest of a part. */
static size_t
sum_size (const struct blkhash_manifest_writer *w)
{
  return w->sum ? w->leaf_size : 0;
}

/* The CRC of the end record also covers the header. */
static int
append_end (struct blkhash_manifest_writer *w, const unsigned char *header,
            const unsigned char *md)
{
  size_t size = sum_size (w);
  unsigned char *sum;
  int err = append_head (w, MANIFEST_END, w->header.count);

  if (err)
    return err;
  sum = output_append (&w->output, size);
  if (!sum)
    return ENOMEM;
  if (size > 0)
    memcpy (sum, md, size);
  return append_tail (w, crc32c (0, header, MANIFEST_HEADER_SIZE));
}

static int
finish (struct blkhash_manifest_writer *w, unsigned char *md)
{
  unsigned char header[MANIFEST_HEADER_SIZE];
  int err = close_leaves (w);

  manifest_header_print (&w->header, header);
  if (err == 0)
    err = close_zeros (w);
  if (err == 0)
    err = sum_final (w, md);
  if (err == 0)
    err = append_end (w, header, md);
  if (err == 0)
    err = output_write (&w->output);
  if (err == 0 && w->header_last)
    err = write_header (w, header);
  return err;
}

int
blkhash_manifest_writer_finish (struct blkhash_manifest_writer *w,
                                uint64_t size, unsigned char *md,
                                unsigned int *len)
{
  unsigned char result[BLKHASH_MAX_MD_SIZE];

  if (w->error)
    return w->error;
  if (w->finished || size == BLKHASH_SIZE_UNKNOWN ||
      (!w->header_last && size != w->header.size))
    return EINVAL;
  w->header.size = size;
  if (w->header_last)
    w->header.count = manifest_image_blocks (&w->header);
  if (w->next != w->header.first + w->header.count)
    return EINVAL;
  w->finished = true;
  w->error = finish (w, result);
  if (w->error)
    return w->error;
  if (md)
    memcpy (md, result, sum_size (w));
  if (len)
    *len = sum_size (w);
  return 0;
}

/* ---- Create and free ---- */

struct block_range {
  uint64_t first, count;        /* blocks */
};

/* Set the range of blocks to write.  Other blocks of the image are ignored.
 * But if the part ends at the end of the image, blocks beyond that end are not
 * ignored, so blkhash_manifest_writer_finish fails.
 */
static int
choose_blocks (struct blkhash_manifest_writer *w,
               const struct block_range *part)
{
  uint64_t blocks = w->header.count;

  if (w->header.size == BLKHASH_SIZE_UNKNOWN || part->first > blocks ||
      part->count > blocks - part->first)
    return EINVAL;
  w->header.first = w->first = w->next = part->first;
  w->header.count = part->count;
  if (part->first + part->count < blocks)
    w->end = part->first + part->count;
  return 0;
}

/* PART is the range of blocks, or NULL for all. */
static int
prepare (struct blkhash_manifest_writer *w, const struct block_range *part,
         int fd)
{
  struct digest *digest = digest_create (w->opts.digest_name);
  int err;

  if (!digest)
    return errno;
  w->leaf_size = digest_size (digest);
  digest_free (digest);
  w->end = UINT64_MAX;
  w->header.count = manifest_image_blocks (&w->header);
  err = part ? choose_blocks (w, part) : 0;
  if (err == 0)
    err = output_init (&w->output, fd);
  if (err == 0)
    err = begin (w);
  if (err || !(w->header_last || manifest_is_complete (&w->header)))
    return err;
  return sum_begin (w);
}

void
blkhash_manifest_writer_free (struct blkhash_manifest_writer *w)
{
  int err = errno;

  if (!w)
    return;
  manifest_sum_free (w->sum);
  output_destroy (&w->output);
  free (w);
  errno = err;
}

static struct blkhash_manifest_writer *
create (const struct blkhash_opts *opts, uint64_t size,
        const struct block_range *part, int fd)
{
  struct blkhash_manifest_writer *w = calloc (1, sizeof *w);
  int err;

  if (!w)
    return NULL;
  if (opts)
    w->opts = *opts;
  else
    opts_init (&w->opts);
  w->header = (struct manifest_header) { .opts = &w->opts, .size = size };
  err = prepare (w, part, fd);
  if (err == 0)
    return w;
  blkhash_manifest_writer_free (w);
  errno = err;
  return NULL;
}

struct blkhash_manifest_writer *
blkhash_manifest_writer_new (const struct blkhash_opts *opts, uint64_t size,
                             int fd)
{
  return create (opts, size, NULL, fd);
}

struct blkhash_manifest_writer *
blkhash_manifest_writer_new_part (const struct blkhash_opts *opts,
                                  uint64_t size, uint64_t first,
                                  uint64_t count, int fd)
{
  const struct block_range part = { first, count };

  return create (opts, size, &part, fd);
}
