/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What can only be read from its start to its end: a pipe.
 *
 * This thread reads into one of a few buffers, and hands each full one to the
 * hash, which has threads of its own and gives the buffer back when it is
 * done.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash.h"

#include "../lib/zero.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "source/source.h"
#include "util/error.h"

#define BUFFER_SIZE (1024 * 1024) /* bytes, at least; whole blocks */
#define PIPE_SIZE (1024 * 1024) /* bytes; what a user may ask for by default */
#define MAX_BUFFERS 32
#define MAX_MEMORY (48 * 1024 * 1024) /* bytes, with a copy of the last block */

struct pipe_reader {
  struct blkhash *hash;
  struct blkhash_opts *opts;    /* as the user's, with a queue depth */
  size_t block_size, buffer_size;
  unsigned nr_buffers;
  unsigned char *memory;        /* of all buffers */
  unsigned char **idle;         /* a stack of buffers that are not in use */
  unsigned nr_idle;
};

static int
setup (struct pipe_reader *reader, const struct blkhash_opts *opts)
{
  unsigned i, threads = blkhash_opts_get_threads (opts);

  reader->block_size = blkhash_opts_get_block_size (opts);
  reader->buffer_size = reader->block_size > BUFFER_SIZE
    ? reader->block_size : BUFFER_SIZE;
  reader->nr_buffers = threads + 2 < MAX_BUFFERS ? threads + 2 : MAX_BUFFERS;
  if (reader->nr_buffers > MAX_MEMORY / reader->buffer_size - 1)
    reader->nr_buffers = MAX_MEMORY / reader->buffer_size - 1;
  reader->memory = malloc (reader->nr_buffers * reader->buffer_size);
  reader->idle = calloc (reader->nr_buffers, sizeof *reader->idle);
  reader->opts = blkhash_opts_new (blkhash_opts_get_digest_name (opts));
  if (!reader->memory || !reader->idle || !reader->opts)
    return -1;
  for (i = 0; i < reader->nr_buffers; i++)
    reader->idle[reader->nr_idle++] = reader->memory +
      i * reader->buffer_size;

  blkhash_opts_set_block_size (reader->opts, reader->block_size);
  blkhash_opts_set_threads (reader->opts, threads);
  blkhash_opts_set_streams (reader->opts, blkhash_opts_get_streams (opts));
  blkhash_opts_set_queue_depth (reader->opts, reader->nr_buffers);
  reader->hash = blkhash_new_opts (reader->opts);
  return reader->hash ? 0 : -1;
}

static void
teardown (struct pipe_reader *reader)
{
  /* The hash may be using the buffers. */
  blkhash_free (reader->hash);
  blkhash_opts_free (reader->opts);
  free (reader->idle);
  free (reader->memory);
}

/* Take back buffers that were hashed, waiting until there is one. */
static int
reap (struct pipe_reader *reader)
{
  struct pollfd poll_fd = {
    .fd = blkhash_aio_completion_fd (reader->hash), .events = POLLIN
  };
  struct blkhash_completion done[16];
  char drain[8];

  while (reader->nr_idle == 0) {
    int i, n;

    if (poll (&poll_fd, 1, -1) == -1 && errno != EINTR)
      return errno;
    if (read (poll_fd.fd, drain, sizeof drain) == -1 && errno != EAGAIN &&
        errno != EINTR)
      return errno;
    do {
      n = blkhash_aio_completions (reader->hash, done, 16);
      for (i = 0; i < n; i++) {
        if (done[i].error)
          return done[i].error;
        reader->idle[reader->nr_idle++] = done[i].user_data;
      }
    } while (n == 16);
    if (n < 0)
      return -n;
  }
  return 0;
}

/* Fill the buffer; only the last one is short.  -1 with errno set. */
static ssize_t
fill (int fd, unsigned char *buf, size_t size)
{
  size_t n = 0;

  while (n < size) {
    ssize_t r = read (fd, buf + n, size - n);

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

/* Let the writer run ahead: both are woken less often.  Fails without harm if
 * it is no pipe, or the user has too many of them.
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

static uint64_t
count_zero (const struct pipe_reader *reader, const unsigned char *buf,
            size_t len)
{
  uint64_t zero = 0;

  while (len > 0) {
    size_t n = len < reader->block_size ? len : reader->block_size;

    if (is_zero (buf, n))
      zero += n;
    buf += n;
    len -= n;
  }
  return zero;
}

static int
read_and_hash (struct pipe_reader *reader, int fd, struct progress *progress,
               struct sum *sum, struct error *error)
{
  ssize_t len;
  int err;

  do {
    unsigned char *buf;

    err = reap (reader);
    if (err)
      return error_errno (error, err, "cannot hash");
    buf = reader->idle[--reader->nr_idle];
    len = fill (fd, buf, reader->buffer_size);
    if (len == -1)
      return error_errno (error, errno, "cannot read");
    sum->size += len;
    sum->zero += count_zero (reader, buf, len);
    err = blkhash_aio_update (reader->hash, buf, len, buf);
    if (err)
      return error_errno (error, err, "cannot hash");
    progress_add (progress, len);
  } while (len == reader->buffer_size);

  err = blkhash_final (reader->hash, sum->md, &sum->md_len);
  if (err)
    return error_errno (error, err, "cannot hash");
  sum->data = sum->size - sum->zero;
  return 0;
}

int
source_pipe_hash (const struct options *options, int fd,
                  struct sum *sum, struct error *error)
{
  struct pipe_reader reader = { 0 };
  struct progress progress;
  int r;

  /* Nobody knows how far it is, but a program can see the end. */
  progress_init (&progress, options, PROGRESS_NO_SIZE);
  strcpy (sum->format, "raw");
  enlarge_pipe (fd);
  if (setup (&reader, options->hash) == -1)
    r = error_errno (error, errno, "cannot hash");
  else
    r = read_and_hash (&reader, fd, &progress, sum, error);
  teardown (&reader);
  progress_end (&progress, r == 0);
  return r;
}
