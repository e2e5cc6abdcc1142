/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/file.h"
#include "io/file-extent.h"
#include "io/files.h"
#include "read/reader.h"
#include "source/raw.h"
#include "source/source.h"
#include "util/error.h"
#include "util/source-options.h"

struct raw {
  struct source source;
  const struct source_options *options;
  struct files files;           /* one file */
  uint64_t start;               /* offset of the image in the file, bytes */
  struct file_extent found;     /* the last extent of raw_extent_at */
};

static int
raw_extent_at (void *opaque, uint64_t offset, struct extent *extent,
               struct error *error)
{
  struct raw *raw = opaque;
  uint64_t at = raw->start + offset;

  if (file_extent_find (&raw->found, raw->files.first, at, error) == -1)
    return -1;
  extent->len = raw->found.end - at;
  extent->zero = raw->found.hole;
  return 0;
}

static int
raw_read (void *opaque, const struct range *range, void *buf,
          struct error *error)
{
  const struct raw *raw = opaque;

  return file_read (raw->files.first, buf, range->len,
                    raw->start + range->offset, range->offset, error);
}

static bool
raw_image (struct source *source, struct reader_image *image)
{
  *image = (struct reader_image) {
    .size = source->size,
    .opaque = source,
    .extent_at = raw_extent_at,
    .read = raw_read,
  };
  return true;
}

static int
raw_scan (struct source *source, struct scan *scan)
{
  const struct raw *raw = (struct raw *) source;
  struct reader_image image;

  raw_image (source, &image);
  return reader_scan (&image, raw->options, scan);
}

static int
raw_check_unchanged (struct source *source, struct error *error)
{
  return files_check_unchanged (&((struct raw *) source)->files, error);
}

static void
raw_close (struct source *source)
{
  struct raw *raw = (struct raw *) source;

  /* Lookups moved the file position.  Set it to the end of the image, where
   * the next reader of standard input continues.
   */
  lseek (raw->files.first->fd, raw->start + source->size, SEEK_SET);
  files_close (&raw->files);
  free (raw);
}

static const struct source_ops raw_ops = {
  .scan = raw_scan,
  .image = raw_image,
  .check_unchanged = raw_check_unchanged,
  .close = raw_close,
};

int
raw_open (const struct source_options *options, const struct files *files,
          uint64_t start, struct source **source, struct error *error)
{
  uint64_t size = files->first->size;
  struct raw *raw = malloc (sizeof *raw);

  if (!raw)
    return error_errno (error, errno, "cannot read");
  *raw = (struct raw) {
    .source = {
      .ops = &raw_ops,
      .format = "raw",
      .size = size > start ? size - start : 0,
      .files = &raw->files,
      .first.needed = !options->format &&
        !file_is_block_device (files->first),
    },
    .options = options,
    .files = *files,
    .start = start,
  };
  files_start_reading (&raw->files);
  *source = &raw->source;
  return 0;
}
