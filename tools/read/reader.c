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

#include "../lib/common/numbers.h"
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
  /* Set once. */
  const struct reader_image *image;
  size_t max_read;              /* bytes of a buffer */
  unsigned threads;
  struct fill *fill;
  struct walk walk;

  struct cursor cursor;         /* for whose turn it is */
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

static unsigned
buffers_of (const struct reader_image *image)
{
  return image->reads_twice ? 2 : 1;
}

/* ---- Threads ---- */

/* A take_function. */
static int
take (void *opaque, struct range *range, struct error *error)
{
  struct reader *reader = opaque;
  const struct reader_image *image = reader->image;
  int r = cursor_next (&reader->cursor, range, error);

  if (r == 1 && !range->zero && image->note)
    range->note = image->note (image->opaque, range);
  return r;
}

static void
read_and_hash (struct reader *reader, const struct range *range, void *buf)
{
  const struct reader_image *image = reader->image;
  struct error error = { "" };
  int err, r = image->read (image->opaque, range, buf, &error);

  if (r == -1) {
    fail (reader, &error);
    return;
  }
  err = r == READER_ZERO
    ? fill_zero (reader->fill, range->len, range->offset)
    : fill_data (reader->fill, buf, range->len, range->offset);
  if (err)
    fail_errno (reader, err, "cannot hash", range->offset);
}

/* Is there one more, which is RANGE now? */
static bool
next_range (struct reader *reader, struct walk_range *range)
{
  struct error error = { "" };
  int r = walk_next (&reader->walk, reader, range, &error);

  if (r == -1)
    fail (reader, &error);
  return r == 1;
}

/* RANGE and those that come after it. */
static void
read_ranges (struct reader *reader, struct walk_range *range)
{
  void *buf = read_buffer (reader->max_read * buffers_of (reader->image));

  if (!buf)
    fail_errno (reader, errno, "cannot read", range->range.offset);
  do {
    if (buf)
      read_and_hash (reader, &range->range, buf);
    walk_done (&reader->walk, range);
  } while (next_range (reader, range));
  free (buf);
}

static void *
run_thread (void *opaque)
{
  struct reader *reader = opaque;
  struct walk_range range;

  if (next_range (reader, &range))
    read_ranges (reader, &range);
  return NULL;
}

/* Returns how many there are. */
static unsigned
start_others (struct reader *reader, pthread_t others[MAX_THREADS])
{
  unsigned i, started = 0;

  for (i = 1; i < reader->threads; i++)
    if (pthread_create (&others[started], NULL, run_thread, reader) == 0)
      started++;
  return started;
}

/* This thread is one of them: a small image needs no other, nor does one in
 * which nothing is to be read.
 */
static void
run_threads (struct reader *reader)
{
  const struct reader_image *image = reader->image;
  pthread_t others[MAX_THREADS];
  struct error error = { "" };
  struct walk_range range;
  unsigned i, started = 0;

  if (image->begin) {
    started = start_others (reader, others);
    if (image->begin (image->opaque, &error) == -1)
      fail (reader, &error);
  }
  if (next_range (reader, &range)) {
    if (!image->begin)
      started = start_others (reader, others);
    read_ranges (reader, &range);
  }
  for (i = 0; i < started; i++)
    pthread_join (others[i], NULL);
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
  size_t bound = USUAL_MEMORY / buffers_of (reader->image) / threads;
  /* Twice as many, so that some can be hashed and others read. */
  uint64_t window = walk_max_range (&reader->walk, 2 * threads);

  if (batch < 2 * MIB)
    batch = 2 * MIB;
  if (bound < MIB)
    bound = MIB;
  if (bound > window)
    bound = window;
  return MIN (batch, bound);
}

/* As many as there are ranges of SIZE bytes, or buffers. */
static unsigned
threads_for (const struct reader *reader, unsigned threads, uint64_t size)
{
  uint64_t ranges = size / reader->max_read + 1;
  uint64_t buffers =
    MAX_MEMORY / buffers_of (reader->image) / reader->max_read;

  if (ranges > buffers)
    ranges = buffers;
  return MIN (ranges, threads);
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
