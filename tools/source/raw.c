/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A raw image in a regular file or on a block device.
 */

#include <config.h>

#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/output.h"
#include "io/file.h"
#include "io/files.h"
#include "read/reader.h"
#include "source/source.h"
#include "util/error.h"

struct raw {
  const struct files *files;
  const struct file *file;
  uint64_t start;               /* where the image starts in the file */
};

static int
raw_extent_at (void *opaque, uint64_t offset, struct extent *extent,
               struct error *error)
{
  const struct raw *raw = opaque;

  return file_extent (raw->file, raw->start + offset, &extent->len,
                      &extent->zero, error);
}

static int
raw_read (void *opaque, const struct range *range, void *buf,
          struct error *error)
{
  const struct raw *raw = opaque;

  return file_read (raw->file, buf, range->len, raw->start + range->offset,
                    range->offset, error);
}

static int
raw_end (void *opaque, struct error *error)
{
  const struct raw *raw = opaque;

  return files_check_unchanged (raw->files, error);
}

int
source_file_hash (const struct options *options, struct files *files,
                  uint64_t start, struct sum *sum, struct error *error)
{
  const struct file *file = files->first;
  struct raw raw = { .files = files, .file = file, .start = start };
  const struct reader_image image = {
    .size = file->size > start ? file->size - start : 0,
    .opaque = &raw,
    .extent_at = raw_extent_at,
    .read = raw_read,
    .end = raw_end,
  };
  int r;

  strcpy (sum->format, "raw");
  files_start_reading (files);
  r = reader_hash (options, &image, sum, error);
  /* Looking for holes moved it; whoever reads on from here finds the end. */
  lseek (file->fd, start + image.size, SEEK_SET);
  return r;
}
