/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "read/reader.h"
#include "read/scan.h"
#include "source/pipe.h"
#include "source/source.h"
#include "util/error.h"
#include "util/extent.h"
#include "util/source-options.h"

#define PIPE_SIZE (1024 * 1024) /* bytes; the default limit without root */
#define CHECK_INTERVAL 500      /* ms between two checks for cancellation */

struct pipe {
  struct source source;
  const struct source_options *options;
  int fd;

  /* Used by the thread whose turn it is: see range-queue.h. */
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
    return error_set (error, "ended after %llu bytes, fewer than the %llu of "
                      "--size", (unsigned long long) pipe->offset,
                      (unsigned long long) pipe->source.size);
  err = scan_set_size (pipe->scan, pipe->offset);
  pipe->source.size = pipe->offset;
  return err ? error_errno (error, err, "cannot hash") : 0;
}

/* Do not read beyond the end of the image: the next byte may never arrive, or
 * is for the next reader of the pipe.
 */
static int
pipe_read_next (void *opaque, void *buf, size_t size, struct range *range,
                struct error *error)
{
  struct pipe *pipe = opaque;
  uint64_t left = pipe->source.size - pipe->offset;
  ssize_t len;

  if (left == 0)
    return 0;
  if (size > left)
    size = left;
  len = read_full (pipe, buf, size);
  if (len == -1)
    return error_errno (error, errno, "cannot read");
  *range = (struct range) { .offset = pipe->offset, .len = len };
  pipe->offset += len;
  if (len < size && end (pipe, error) == -1)
    return -1;
  return len > 0;
}

static int
pipe_scan (struct source *source, struct scan *scan)
{
  struct pipe *pipe = (struct pipe *) source;
  const struct reader_image image = {
    .size = source->size, .opaque = pipe, .read_next = pipe_read_next
  };

  pipe->scan = scan;
  return reader_scan (&image, pipe->options, scan);
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
