/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source: the content of an image.  open.c opens an operand; each kind of
 * source is in a file of this folder.
 *
 * A source reads the missing ranges of a leaf table (struct blkhash_leaves).
 * It does not depend on the digest, the sum or the output.  Its functions are
 * called by one thread at a time.
 *
 * All sources use the buffers and limits of read/.  All that are not read over
 * NBD also use the threads of read/, which the function scan starts.
 *
 * Each kind of source has its own function scan, because reading at any offset
 * (the function image) is not enough for all of them: a stream has no offsets,
 * an NBD connection has many reads in flight, and an image whose scan has begun
 * may have to be read by qemu.
 */

#ifndef BLKSUM_SOURCE_H
#define BLKSUM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/first-bytes.h"

struct error;
struct files;
struct image_ops;
struct ranges;
struct scan;
struct source;
struct source_options;

#define SOURCE_SIZE_UNKNOWN UINT64_MAX

struct source_ops {
  /* Read the missing ranges of SCAN in the first source->size bytes.  A source
   * that can only be read sequentially is read once and completely, into an
   * empty table, whose size is set at the end if it was unknown.  Returns 0; or
   * -1 with the reason in SCAN, unless the scan was canceled.  After an error
   * the source can only be closed.
   */
  int (*scan) (struct source *source, struct scan *scan);

  /* Set IMAGE to functions that read the source at any offset.  This can wait
   * until qemu-nbd has started.  Returns false if the source cannot be read at
   * any offset.  Is NULL if no source of this kind can.
   */
  bool (*image) (struct source *source, struct image_ops *image);

  /* Check, after the source was read, that it has not changed since it was
   * opened.  Returns 0; or -1 with the reason, and the data must not be used.
   * Is NULL if changes cannot be detected.
   */
  int (*check_unchanged) (struct source *source, struct error *error);

  /* Read the dirty bitmap that the options name, before the source is read, and
   * store the dirty ranges in RANGES.  Returns 0, or -1 with the reason.  Is
   * NULL if this kind of source has no bitmaps.
   */
  int (*read_bitmap) (struct source *source, struct ranges *ranges,
                      struct error *error);

  void (*close) (struct source *source);
};

/* The base of each kind of source. */
struct source {
  const struct source_ops *ops;
  char format[32];
  uint64_t size;                /* size of the image in bytes;
                                 * SOURCE_SIZE_UNKNOWN until the end was read */
  uint64_t trailing;            /* with --size: bytes after the image, or
                                 * SOURCE_SIZE_UNKNOWN */
  bool sequential;              /* can only be read once, from its start to its
                                 * end, as a pipe */
  const struct files *files;    /* local files, with their state when they were
                                 * opened; NULL if they are not known */
  struct first_bytes first;     /* set when the source was scanned */
};

static inline int
source_scan (struct source *source, struct scan *scan)
{
  return source->ops->scan (source, scan);
}

static inline int
source_check_unchanged (struct source *source, struct error *error)
{
  if (!source->ops->check_unchanged)
    return 0;
  return source->ops->check_unchanged (source, error);
}

static inline void
source_close (struct source *source)
{
  source->ops->close (source);
}

/* ---- Opening ---- */

/* Does OPERAND start with a scheme and "://", as nbd+unix:///?socket=PATH does?
 * A file with such a name can be given as ./NAME.
 */
bool source_is_uri (const char *operand);

/* Open OPERAND: a file, a device, a URI, or "-".  Detect and check the format,
 * but read no data.  OPTIONS and OPERAND must outlive the source.  The calling
 * thread must not end before the source is closed, because qemu-nbd ends with
 * that thread.  Thread-safe.  Returns 0, or -1 with the reason; then *SOURCE is
 * not set.
 */
int source_open (const struct source_options *options, const char *operand,
                 struct source **source, struct error *error);

/* Open the raw image in FD, a regular file or block device.  The caller has
 * opened FD with O_DIRECT and locked it, and closes it after the source.
 * Unless OPTIONS gives the format raw, the format is detected.  An image that
 * is not raw is refused.  Returns 0, or -1 with the reason; then *SOURCE is not
 * set.
 */
int source_open_raw (const struct source_options *options, int fd,
                     struct source **source, struct error *error);

/* ---- The difference of two sources ---- */

/* Create the difference of two open sources, which must outlive it.  It has the
 * size of the larger one; the smaller one is extended by zeros.  Blocks of
 * BLOCK_SIZE bytes are compared: a block that is the same in both reads as
 * zeros, and any other block as some data that is not zero.  Returns 0; or -1
 * with errno set: ENOTSUP if one of the two has no functions that read at any
 * offset (see the function image above).
 */
int pair_open (const struct source_options *options, size_t block_size,
               struct source *const both[2], struct source **source);

/* Returns the index, 0 or 1, of the source that caused the error of the pair.
 */
unsigned pair_failed (const struct source *source);

#endif /* BLKSUM_SOURCE_H */
