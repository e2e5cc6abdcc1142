/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the content of a disk comes from: open.h opens what an operand names,
 * and each kind is a file of this folder.
 *
 * A source fills what a leaf table misses; of digests, sums and output it knows
 * nothing.
 */

#ifndef BLKSUM_SOURCE_H
#define BLKSUM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct files;
struct fill;
struct reader_image;
struct ranges;
struct source;

#define SOURCE_SIZE_UNKNOWN UINT64_MAX

struct source_ops {
  /* Read what is missing in FILL, of the first source->size bytes.  What can
   * only be read from its start to its end is read once and whole, into an
   * empty table, which is told the size then.  0, or -1 with the reason in
   * FILL: now it can only be closed.
   */
  int (*fill) (struct source *source, struct fill *fill);

  /* Set IMAGE to how it can be read at any offset, which may take until a
   * server has started.  False if it cannot.  NULL: nor can any of its kind.
   */
  bool (*image) (struct source *source, struct reader_image *image);

  /* After it was read: is it still what it was when it was opened?  What was
   * read counts only then.  0, or -1 with the reason.  NULL: nobody can tell.
   */
  int (*check_unchanged) (struct source *source, struct error *error);

  /* The local files that it is read from, in the state in which they were
   * opened.  NULL: nobody can tell.
   */
  const struct files *(*files) (const struct source *source);

  /* Before it is read: what the dirty bitmap says has changed that the options
   * name.  0, or -1 with the reason.  NULL: such a source has none.
   */
  int (*read_bitmap) (struct source *source, struct ranges *ranges,
                      struct error *error);

  void (*close) (struct source *source);
};

/* The beginning of what each kind is. */
struct source {
  const struct source_ops *ops;
  char format[32];
  uint64_t size;                /* of the image, bytes; SOURCE_SIZE_UNKNOWN up
                                 * to the end */
  uint64_t full_size;           /* the same, with what follows the image */
};

static inline int
source_fill (struct source *source, struct fill *fill)
{
  return source->ops->fill (source, fill);
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
