/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Threads that read an image and hash it.
 *
 * Each thread takes the next range from the cursor, reads it into a buffer of
 * its own, and hands the buffer to the leaf table, which hashes it in that
 * thread.  There is no queue: the data stays in the cache of one core.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "blkhash.h"

#include "../lib/cleanup.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "io/read.h"
#include "read/reader.h"
#include "read/window.h"
#include "source/source.h"
#include "util/error.h"

#define MIB (1024 * 1024)       /* bytes */
#define BATCH 32                /* blocks: twice as many as any kernel takes */
#define USUAL_MEMORY (32 * MIB) /* of all buffers, unless that is too little */
#define MAX_MEMORY (44 * MIB)   /* then fewer threads read */
#define MAX_THREADS 128

struct reader {
  const struct reader_image *image;
  struct blkhash_leaves *leaves;
  struct progress progress;

  pthread_mutex_t lock;         /* protects what follows */
  struct cursor cursor;
  struct window window;
  pthread_cond_t has_advanced;  /* the window, or there is an error */
  uint64_t hole;                /* bytes in ranges that were not read */
  struct error error;           /* the first of any thread; stops all */
};

static void
fail (struct reader *reader, const struct error *error)
{
  SCOPED_LOCK (&reader->lock);

  if (!error_is_set (&reader->error))
    reader->error = *error;
  pthread_cond_broadcast (&reader->has_advanced);
}

static int
fail_errno (struct reader *reader, int err, const char *what,
            const struct range *range)
{
  struct error error = { "" };

  error_errno (&error, err, "%s at offset %llu", what,
               (unsigned long long) range->offset);
  fail (reader, &error);
  return -1;
}

/* ---- Threads ---- */

/* 1 with RANGE taken, 0 at the end, or -1. */
static int
next_range (struct reader *reader, struct range *range,
            struct window_item *item)
{
  int r;
  SCOPED_LOCK (&reader->lock);

  while (!window_is_open (&reader->window) &&
         !error_is_set (&reader->error))
    pthread_cond_wait (&reader->has_advanced, &reader->lock);
  if (error_is_set (&reader->error))
    return -1;
  r = cursor_next (&reader->cursor, range, &reader->error);
  if (r == 1)
    window_take (&reader->window, item, range);
  else
    pthread_cond_broadcast (&reader->has_advanced);
  return r;
}

/* Also of one that failed: ITEM ends with its thread. */
static void
end_range (struct reader *reader, const struct range *range,
           struct window_item *item)
{
  SCOPED_LOCK (&reader->lock);
  bool was_open = window_is_open (&reader->window);

  window_done (&reader->window, item);
  if (range->zero)
    reader->hole += range->len;
  if (!was_open)
    pthread_cond_broadcast (&reader->has_advanced);
}

static int
do_zero (struct reader *reader, const struct range *range)
{
  int err = blkhash_leaves_zero (reader->leaves, range->len, range->offset);

  if (err)
    return fail_errno (reader, err, "cannot hash", range);
  return 0;
}

static int
do_data (struct reader *reader, const struct range *range, void *buf)
{
  const struct reader_image *image = reader->image;
  struct error error = { "" };
  int err;

  if (image->read (image->opaque, range, buf, &error) == -1) {
    fail (reader, &error);
    return -1;
  }
  err = blkhash_leaves_data (reader->leaves, buf, range->len, range->offset);
  if (err)
    return fail_errno (reader, err, "cannot hash", range);
  return 0;
}

static void *
run_thread (void *opaque)
{
  struct reader *reader = opaque;
  struct range range = { .offset = 0 };
  struct window_item item;
  void *buf = read_buffer (reader->cursor.max_read);
  int r;

  if (!buf) {
    fail_errno (reader, errno, "cannot read", &range);
    return NULL;
  }
  while (next_range (reader, &range, &item) == 1) {
    r = range.zero ? do_zero (reader, &range) : do_data (reader, &range, buf);
    end_range (reader, &range, &item);
    if (r == -1)
      break;
    progress_add (&reader->progress, range.len);
  }
  free (buf);
  return NULL;
}

/* This thread is one of them: a small or empty image needs no other. */
static void
run_threads (struct reader *reader, unsigned count)
{
  const struct reader_image *image = reader->image;
  pthread_t threads[MAX_THREADS];
  struct error error = { "" };
  unsigned i, started = 0;

  for (i = 1; i < count; i++)
    if (pthread_create (&threads[started], NULL, run_thread, reader) == 0)
      started++;
  if (image->begin && image->begin (image->opaque, &error) == -1)
    fail (reader, &error);
  run_thread (reader);
  for (i = 0; i < started; i++)
    pthread_join (threads[i], NULL);
}

/* How much to read at once: a batch, within a bound on memory.  A disk gives
 * far less when it is asked for less than 2 MiB; a little more than the L2
 * cache costs nothing that could be measured.
 */
static size_t
read_size (const struct options *options, const struct window *window)
{
  size_t batch = BATCH * (size_t) blkhash_opts_get_block_size (options->hash);
  unsigned threads = blkhash_opts_get_threads (options->hash);
  size_t bound = USUAL_MEMORY / threads;

  if (batch < 2 * MIB)
    batch = 2 * MIB;
  if (bound < MIB)
    bound = MIB;
  /* Twice as many, so that some can be hashed and others read. */
  if (bound > window_max_range (window, 2 * threads))
    bound = window_max_range (window, 2 * threads);
  return batch < bound ? batch : bound;
}

static unsigned
threads_for (const struct options *options, const struct reader *reader)
{
  uint64_t ranges = reader->cursor.size / reader->cursor.max_read + 1;
  uint64_t buffers = MAX_MEMORY / reader->cursor.max_read;
  unsigned threads = blkhash_opts_get_threads (options->hash);

  if (ranges > buffers)
    ranges = buffers;
  return ranges < threads ? ranges : threads;
}

/* ---- The whole ---- */

/* With an error in reader->error, or a sum. */
static void
read_and_hash (struct reader *reader, const struct options *options,
               struct sum *sum)
{
  const struct reader_image *image = reader->image;
  uint64_t align = blkhash_opts_get_block_size (options->hash);

  /* Direct I/O needs aligned offsets; blocks can be smaller than that. */
  if (align < READ_ALIGN)
    align = READ_ALIGN;
  window_init (&reader->window, blkhash_opts_get_block_size (options->hash));
  cursor_init (&reader->cursor, image->size, align,
               read_size (options, &reader->window),
               options->extents ? image->extent_at : NULL, image->opaque);

  reader->leaves = blkhash_leaves_new (options->hash, image->size,
                                       BLKHASH_LEAVES_ONCE);
  if (!reader->leaves) {
    error_errno (&reader->error, errno, "cannot hash");
    return;
  }
  run_threads (reader, threads_for (options, reader));
  if (!error_is_set (&reader->error) &&
      source_fold (reader->leaves, image->size, reader->hole, sum,
                   &reader->error) == 0)
    image->end (image->opaque, &reader->error);
  blkhash_leaves_free (reader->leaves);
}

int
reader_hash (const struct options *options, const struct reader_image *image,
             struct sum *sum, struct error *error)
{
  struct reader reader = { .image = image };
  bool failed;

  pthread_mutex_init (&reader.lock, NULL);
  pthread_cond_init (&reader.has_advanced, NULL);
  progress_init (&reader.progress, options, image->size);
  read_and_hash (&reader, options, sum);
  failed = error_is_set (&reader.error);
  progress_end (&reader.progress, !failed);
  pthread_cond_destroy (&reader.has_advanced);
  pthread_mutex_destroy (&reader.lock);
  if (failed)
    *error = reader.error;
  return failed ? -1 : 0;
}
