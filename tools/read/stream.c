/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fill a leaf table from what can only be read from its start to its end.
 *
 * One thread reads into buffers, others hash them.  Whoever writes to a pipe
 * waits while nobody reads: so the reader hashes only if all buffers are full.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>

#include "read/fill.h"
#include "read/queue.h"
#include "read/stream.h"
#include "read/walk.h"
#include "util/error.h"
#include "util/source-options.h"

#define MIB (1024 * 1024)       /* bytes */
#define MAX_MEMORY (44 * MIB)   /* of all buffers */
#define MAX_THREADS 128

struct stream {
  /* Set once. */
  stream_function read_next;
  void *opaque;                 /* for it */
  size_t max_read;              /* bytes of a buffer */
  struct fill *fill;
  struct walk walk;
  struct queue queue;
};

static void
fail (struct stream *stream, const struct error *error)
{
  fill_fail (stream->fill, error);
  walk_stop (&stream->walk);
  queue_stop (&stream->queue);
}

static void
fail_errno (struct stream *stream, int err, const char *what, uint64_t offset)
{
  struct error error = { "" };

  error_errno (&error, err, "%s at offset %llu", what,
               (unsigned long long) offset);
  fail (stream, &error);
}

/* ---- Hash ---- */

static void
hash_buffer (struct stream *stream, struct buffer *buffer)
{
  const struct range *range = &buffer->place.range;
  int err = fill_data (stream->fill, buffer->bytes, range->len, range->offset);

  if (err)
    fail_errno (stream, err, "cannot hash", range->offset);
  walk_done (&stream->walk, &buffer->place);
  queue_free (&stream->queue, buffer);
}

static void *
run_thread (void *opaque)
{
  struct stream *stream = opaque;
  struct buffer *buffer;

  while ((buffer = queue_wait_buffer (&stream->queue)))
    hash_buffer (stream, buffer);
  return NULL;
}

/* ---- Read ---- */

/* A take_function. */
static int
take (void *opaque, struct range *range, struct error *error)
{
  const struct buffer *buffer = opaque;
  struct stream *stream = buffer->owner;

  return stream->read_next (stream->opaque, buffer->bytes, buffer->len, range,
                            error);
}

/* A buffer that is not in use, or NULL if it was stopped. */
static struct buffer *
get_buffer (struct stream *stream)
{
  struct buffer *buffer;

  while (!(buffer = queue_get (&stream->queue, stream->max_read)) &&
         !queue_is_stopped (&stream->queue)) {
    struct buffer *full = queue_take (&stream->queue);

    if (full)
      hash_buffer (stream, full);
    else
      queue_wait_memory (&stream->queue, stream->max_read);
  }
  return buffer;
}

static void
read_all (struct stream *stream)
{
  struct error error = { "" };
  struct buffer *buffer;

  while ((buffer = get_buffer (stream))) {
    int r;

    buffer->owner = stream;
    r = walk_next (&stream->walk, buffer, &buffer->place, &error);
    if (r == -1)
      fail (stream, &error);
    if (r != 1)
      break;
    queue_put (&stream->queue, buffer);
  }
  queue_end (&stream->queue);
  run_thread (stream);
}

/* ---- The whole ---- */

static void
run_threads (struct stream *stream, unsigned count)
{
  pthread_t threads[MAX_THREADS];
  unsigned i, started = 0;

  for (i = 0; i < count && i < MAX_THREADS; i++)
    if (pthread_create (&threads[started], NULL, run_thread, stream) == 0)
      started++;
  read_all (stream);
  for (i = 0; i < started; i++)
    pthread_join (threads[i], NULL);
}

/* Whole blocks, and no more than the largest pipe holds by default: to wait for
 * more, while others have nothing to hash, cost 12 % of the time.
 */
static size_t
read_size (const struct stream *stream, unsigned buffers)
{
  size_t block_size = stream->fill->block_size, size = MIB;
  /* It can be longer than all memory. */
  uint64_t window = walk_max_range (&stream->walk, 2 * buffers);

  if (size > window)
    size = window;
  return size < block_size ? block_size : size - size % block_size;
}

int
stream_fill (stream_function read_next, void *opaque,
             const struct source_options *options, struct fill *fill)
{
  struct stream stream = {
    .read_next = read_next, .opaque = opaque, .fill = fill
  };
  size_t memory;
  int err;

  /* One is being read, and one waits. */
  walk_init (&stream.walk, fill, take);
  stream.max_read = read_size (&stream, options->threads + 2);
  memory = (options->threads + 2) * stream.max_read;
  err = queue_init (&stream.queue, memory < MAX_MEMORY ? memory : MAX_MEMORY,
                    stream.max_read);
  if (err)
    fail_errno (&stream, err, "cannot read", 0);
  else
    run_threads (&stream, options->threads);
  queue_destroy (&stream.queue);
  walk_destroy (&stream.walk);
  return fill_has_failed (fill) ? -1 : 0;
}
