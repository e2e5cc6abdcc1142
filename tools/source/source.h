/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source: the content of an image.  open.h opens an operand; each kind of
 * source is a file of this folder.
 *
 * A source reads what a leaf table lacks.  It does not depend on the digest,
 * the sum or the output.
 *
 * The threads, buffers and bounds are those of read/ for all sources; scan
 * starts them with the functions of one.  It is not derived from image, which
 * only some sources have: a stream has no offsets, an NBD connection has many
 * reads in flight, and an image can turn out to be one for qemu after its scan
 * has begun.
 */

#ifndef BLKSUM_SOURCE_H
#define BLKSUM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct files;
struct scan;
struct reader_image;
struct ranges;
struct source;

#define SOURCE_SIZE_UNKNOWN UINT64_MAX

struct source_ops {
  /* Read what SCAN lacks of the first source->size bytes.  A source that can
   * only be read sequentially is read once and completely, into an empty table,
   * whose size is set at the end.  Returns 0, or -1 with the reason in SCAN;
   * then the source can only be closed.
   */
  int (*scan) (struct source *source, struct scan *scan);

  /* Set IMAGE to the functions that read the source at any offset.  This can
   * wait until a server has started.  Returns false if the source cannot be
   * read so.  NULL: none of this kind can.
   */
  bool (*image) (struct source *source, struct reader_image *image);

  /* Check, after the source was read, that it has not changed since it was
   * opened.  Otherwise what was read must not be used.  Returns 0, or -1 with
   * the reason.  NULL: changes cannot be detected.
   */
  int (*check_unchanged) (struct source *source, struct error *error);

  /* The local files of the source, with their state when they were opened.
   * NULL: they are not known.
   */
  const struct files *(*files) (const struct source *source);

  /* Read the dirty bitmap that the options name, before the source is read:
   * RANGES receives what changed.  Returns 0, or -1 with the reason.  NULL:
   * this kind of source has no bitmap.
   */
  int (*read_bitmap) (struct source *source, struct ranges *ranges,
                      struct error *error);

  void (*close) (struct source *source);
};

/* The base of each kind of source. */
struct source {
  const struct source_ops *ops;
  char format[32];
  uint64_t size;                /* of the image, bytes; SOURCE_SIZE_UNKNOWN
                                 * until the end was read */
  uint64_t full_size;           /* the same, with trailing data */
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

static inline const struct files *
source_files (const struct source *source)
{
  return source->ops->files ? source->ops->files (source) : NULL;
}

static inline void
source_close (struct source *source)
{
  source->ops->close (source);
}

#endif /* BLKSUM_SOURCE_H */
