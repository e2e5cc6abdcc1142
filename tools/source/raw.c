/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A raw image in a regular file or on a block device, and one that can only be
 * read sequentially.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "../lib/common/util.h"
#include "io/file.h"
#include "read/image-reader.h"
#include "read/scan.h"
#include "source/source-private.h"
#include "source/source.h"
#include "util/error.h"
#include "util/extent.h"
#include "util/source-options.h"

/* ---- A file or device ---- */

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
  *extent = (struct extent) {
    .len = raw->found.end - at,
    .zero = raw->found.hole,
    .place[0] = { .kind = PLACE_FILE, .file = raw->files.first, .host = at },
  };
  return 0;
}

/* Only called with --no-extents. */
static int
raw_read (void *opaque, const struct range *range, void *buf,
          struct error *error)
{
  const struct raw *raw = opaque;

  return file_read (raw->files.first, buf, range->len,
                    raw->start + range->offset, range->offset, error);
}

static bool
raw_image (struct source *source, struct image_ops *image)
{
  *image = (struct image_ops) {
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
  struct image_ops image;

  raw_image (source, &image);
  return image_reader_scan (&image, raw->options, scan);
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

/* ---- A pipe ---- */

#define PIPE_SIZE (1024 * 1024) /* bytes; the default limit without root */
#define CHECK_INTERVAL 500      /* ms between two checks for cancellation */

struct pipe {
  struct source source;
  const struct source_options *options;
  int fd;

  /* Used by the thread whose turn it is: see reader-ranges.h. */
  struct scan *scan;
  uint64_t offset;              /* number of bytes that were read */
};

/* Enlarge the pipe, so that both processes wake less often.  Errors are
 * ignored: FD might not be a pipe, or the user might have too many pipes.
 */
static void
enlarge_pipe (int fd)
{
#ifdef F_SETPIPE_SZ
  if (fcntl (fd, F_GETPIPE_SZ) < PIPE_SIZE)
    fcntl (fd, F_SETPIPE_SZ, PIPE_SIZE);
#else
  (void) fd;
#endif
}

/* Wait for data, which can take long.  Returns false with errno set if the scan
 * has failed or was canceled.
 */
static bool
wait_for_data (const struct pipe *pipe)
{
  struct pollfd poll_fd = { .fd = pipe->fd, .events = POLLIN };

  do
    if (scan_has_failed (pipe->scan)) {
      errno = ECANCELED;
      return false;
    }
  while (poll (&poll_fd, 1, CHECK_INTERVAL) == 0);
  return true;
}

/* Fill BUF, unless the pipe ends.  Returns the number of bytes, or -1 with
 * errno set.
 */
static ssize_t
read_full (const struct pipe *pipe, unsigned char *buf, size_t size)
{
  size_t n = 0;

  while (n < size) {
    ssize_t r = wait_for_data (pipe) ? read (pipe->fd, buf + n, size - n) : -1;

    if (r == -1 && errno == EINTR)
      continue;
    if (r == -1)
      return -1;
    if (r == 0)
      break;
    n += r;
  }
  return n;
}

/* Called when the pipe has ended. */
static int
end (struct pipe *pipe, struct error *error)
{
  int err;

  if (pipe->source.size != SOURCE_SIZE_UNKNOWN)
    return error_set (error, "ended after %" PRIu64 " bytes, fewer than the "
                      "%" PRIu64 " of --size", pipe->offset,
                      pipe->source.size);
  err = scan_set_size (pipe->scan, pipe->offset);
  pipe->source.size = pipe->offset;
  return err ? error_errno (error, err, "cannot hash") : 0;
}

/* Do not read beyond the end of the image: the next byte may never arrive, or
 * is for the next reader of the pipe.
 */
static enum next_range
pipe_read_next (void *opaque, void *buf, size_t size, struct range *range,
                struct error *error)
{
  struct pipe *pipe = opaque;
  uint64_t left = pipe->source.size - pipe->offset;
  ssize_t len;

  if (left == 0)
    return NEXT_END;
  size = MIN (size, left);
  len = read_full (pipe, buf, size);
  if (len == -1) {
    error_errno (error, errno, "cannot read");
    return NEXT_ERROR;
  }
  *range = (struct range) { .offset = pipe->offset, .len = len };
  pipe->offset += len;
  if (len < size && end (pipe, error) == -1)
    return NEXT_ERROR;
  return len > 0 ? NEXT_FOUND : NEXT_END;
}

static int
pipe_scan (struct source *source, struct scan *scan)
{
  struct pipe *pipe = (struct pipe *) source;
  const struct image_ops image = {
    .size = source->size, .opaque = pipe, .read_next = pipe_read_next
  };

  pipe->scan = scan;
  return image_reader_scan (&image, pipe->options, scan);
}

static void
pipe_close (struct source *source)
{
  struct pipe *pipe = (struct pipe *) source;

  if (pipe->fd != STDIN_FILENO)
    close (pipe->fd);
  free (pipe);
}

static const struct source_ops pipe_ops = {
  .scan = pipe_scan,
  .close = pipe_close,
};

int
pipe_open (const struct source_options *options, int fd,
           struct source **source, struct error *error)
{
  struct pipe *pipe = malloc (sizeof *pipe);

  if (!pipe)
    return error_errno (error, errno, "cannot read");
  *pipe = (struct pipe) {
    .source = {
      .ops = &pipe_ops, .format = "raw", .size = SOURCE_SIZE_UNKNOWN,
      .sequential = true,
      .first.needed = !options->format,
    },
    .options = options,
    .fd = fd,
  };
  enlarge_pipe (fd);
  *source = &pipe->source;
  return 0;
}
