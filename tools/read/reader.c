/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Threads that read an image and fill a leaf table.
 *
 * Each thread takes the next range, reads it into a buffer of its own, and
 * hands the buffer to the leaf table, which hashes it in that thread.  There is
 * no queue: the data stays in the cache of one core.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "io/read.h"
#include "read/fill.h"
#include "read/reader.h"
#include "read/walk.h"
#include "util/error.h"
#include "util/source-options.h"

#define MIB (1024 * 1024)       /* bytes */
#define USUAL_MEMORY (32 * MIB) /* of all buffers, unless that is too little */
#define MAX_MEMORY (44 * MIB)   /* then fewer threads read */
#define MAX_THREADS 128

struct reader {
  /* Set once.  One of the two is there. */
  const struct reader_image *image;
  struct cursor cursor;         /* its; for whose turn it is */
  stream_function read_next;
  void *opaque;                 /* for it */

  size_t max_read;              /* bytes of a buffer */
  unsigned threads;
  struct fill *fill;
  struct walk walk;
};

struct taker {
  struct reader *reader;
  void *buf;
};

static void
fail (struct reader *reader, const struct error *error)
{
  fill_fail (reader->fill, error);
  walk_stop (&reader->walk);
}

static void
fail_errno (struct reader *reader, int err, const char *what,
            uint64_t offset)
{
  struct error error = { "" };

  error_errno (&error, err, "%s at offset %llu", what,
               (unsigned long long) offset);
  fail (reader, &error);
}

/* ---- Threads ---- */

/* A take_function. */
static int
take (void *opaque, struct range *range, struct error *error)
{
  const struct taker *taker = opaque;
  struct reader *reader = taker->reader;

  if (reader->image)
    return cursor_next (&reader->cursor, range, error);
  return reader->read_next (reader->opaque, taker->buf, reader->max_read,
                            range, error);
}

static void
read_and_hash (struct reader *reader, const struct range *range, void *buf)
{
  const struct reader_image *image = reader->image;
  struct error error = { "" };
  int err;

  if (image && image->read (image->opaque, range, buf, &error) == -1) {
    fail (reader, &error);
    return;
  }
  err = fill_data (reader->fill, buf, range->len, range->offset);
  if (err)
    fail_errno (reader, err, "cannot hash", range->offset);
}

static void *
run_thread (void *opaque)
{
  struct reader *reader = opaque;
  struct taker taker = {
    .reader = reader, .buf = read_buffer (reader->max_read)
  };
  struct error error = { "" };
  struct walk_range next;
  int r;

  if (!taker.buf) {
    fail_errno (reader, errno, "cannot read", 0);
    return NULL;
  }
  while ((r = walk_next (&reader->walk, &taker, &next, &error)) == 1) {
    read_and_hash (reader, &next.range, taker.buf);
    walk_done (&reader->walk, &next);
  }
  if (r == -1)
    fail (reader, &error);
  free (taker.buf);
  return NULL;
}

/* This thread is one of them: a small or empty image needs no other. */
static void
run_threads (struct reader *reader)
{
  const struct reader_image *image = reader->image;
  pthread_t threads[MAX_THREADS];
  struct error error = { "" };
  unsigned i, started = 0;

  for (i = 1; i < reader->threads; i++)
    if (pthread_create (&threads[started], NULL, run_thread, reader) == 0)
      started++;
  if (image && image->begin && image->begin (image->opaque, &error) == -1)
    fail (reader, &error);
  run_thread (reader);
  for (i = 0; i < started; i++)
    pthread_join (threads[i], NULL);
}

/* ---- Sizes ---- */

/* How much to read at once: a batch, within a bound on memory.  A disk gives
 * far less when it is asked for less than 2 MiB; a little more than the L2
 * cache costs nothing that could be measured.
 */
static size_t
read_size (const struct reader *reader, unsigned threads)
{
  size_t batch = fill_batch (reader->fill);
  size_t bound = USUAL_MEMORY / threads;
  /* Twice as many, so that some can be hashed and others read. */
  uint64_t window = walk_max_range (&reader->walk, 2 * threads);

  if (batch < 2 * MIB)
    batch = 2 * MIB;
  if (bound < MIB)
    bound = MIB;
  if (bound > window)
    bound = window;
  return batch < bound ? batch : bound;
}

/* As many as there are ranges of SIZE bytes, or buffers. */
static unsigned
threads_for (const struct reader *reader, unsigned threads, uint64_t size)
{
  uint64_t ranges = size / reader->max_read + 1;
  uint64_t buffers = MAX_MEMORY / reader->max_read;

  if (ranges > buffers)
    ranges = buffers;
  return ranges < threads ? ranges : threads;
}

/* ---- The whole ---- */

static int
end (struct reader *reader)
{
  walk_destroy (&reader->walk);
  return fill_has_failed (reader->fill) ? -1 : 0;
}

int
reader_fill (const struct reader_image *image,
             const struct source_options *options, struct fill *fill)
{
  struct reader reader = {
    .image = image,
    .cursor = {
      .size = image->size,
      .extent_at = options->extents ? image->extent_at : NULL,
      .extent_opaque = image->opaque,
      .missing_at = fill_missing_at,
      .missing_opaque = fill,
    },
    .fill = fill,
  };
  /* Direct I/O needs aligned offsets; blocks can be smaller than that. */
  uint64_t align = fill->block_size < READ_ALIGN ? READ_ALIGN
                                                 : fill->block_size;

  walk_init (&reader.walk, fill, take);
  cursor_start (&reader.cursor, align, read_size (&reader, options->threads));
  reader.max_read = reader.cursor.max_read;
  reader.threads = threads_for (&reader, options->threads, image->size);
  run_threads (&reader);
  return end (&reader);
}

/* One thread reads while the others hash: it is one more.  It takes no more at
 * once than the largest pipe holds by default: to wait for more, while others
 * have nothing to hash, cost 12 % of the time.
 */
int
reader_fill_stream (stream_function read_next, void *opaque,
                    const struct source_options *options, struct fill *fill)
{
  struct reader reader = {
    .read_next = read_next, .opaque = opaque, .fill = fill
  };
  unsigned threads = options->threads + 1;
  size_t size;

  walk_init (&reader.walk, fill, take);
  size = read_size (&reader, threads);
  if (size > MIB)
    size = MIB;
  reader.max_read = size < fill->block_size ? fill->block_size
    : size - size % fill->block_size;
  reader.threads = threads_for (&reader, threads, UINT64_MAX);
  run_threads (&reader);
  return end (&reader);
}
