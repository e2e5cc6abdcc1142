/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An NBD export that has been connected to: sizes of requests and memory, and
 * the threads.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>

#include "blkhash.h"

#include "cli/options.h"
#include "cli/output.h"
#include "nbd/conn.h"
#include "nbd/load.h"
#include "nbd/read.h"
#include "source/source.h"
#include "util/error.h"

#define MAX_THREADS 128
#define MAX_REQUEST (32 * 1024 * 1024) /* bytes, what every server takes */
#define MAX_SPARE (12 * 1024 * 1024) /* bytes of memory, for hashing */
#define MAX_MEMORY (40 * 1024 * 1024) /* for a few reads that are large */
#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* ---- Threads ---- */

static void *
run_conn (void *opaque)
{
  conn_run (opaque);
  return NULL;
}

static void *
run_helper (void *opaque)
{
  nbd_reader_help (opaque);
  return NULL;
}

/* Every connection needs its thread; this thread is the first one's.  Threads
 * start in any order: all connections are counted before the first.
 */
static void
run_threads (struct nbd_reader *reader, unsigned count)
{
  pthread_t threads[MAX_THREADS];
  unsigned i, started = 0;
  int err = 0;

  reader->reading = reader->nr_conns;
  for (i = 1; i < reader->nr_conns && err == 0; i++) {
    err = pthread_create (&threads[started], NULL, run_conn,
                          &reader->conns[i]);
    if (err == 0)
      started++;
  }
  if (err) {
    struct error error = { "" };

    error_errno (&error, err, "cannot start a thread");
    nbd_reader_fail (reader, &error);
  }
  for (; i < count && err == 0; i++) {
    err = pthread_create (&threads[started], NULL, run_helper, reader);
    if (err == 0)
      started++;
  }
  conn_run (&reader->conns[0]);
  for (i = 0; i < started; i++)
    pthread_join (threads[i], NULL);
}

/* ---- The whole ---- */

/* Sizes of reads and requests: a read is of whole blocks, in several requests
 * where the server does not take one that long.
 */
static int
setup_requests (struct nbd_reader *reader, const struct options *options,
                struct nbd_handle *nbd, uint64_t size)
{
  int64_t min = nbd_get_block_size (nbd, LIBNBD_SIZE_MINIMUM);
  int64_t max = nbd_get_block_size (nbd, LIBNBD_SIZE_MAXIMUM);
  uint64_t align = blkhash_opts_get_block_size (options->hash);

  if (min <= 0)
    min = 1;
  if (max <= 0 || max > MAX_REQUEST)
    max = MAX_REQUEST;
  if ((min & (min - 1)) != 0 || min > max)
    return error_set (&reader->error, "the server takes requests of %lld to "
                      "%lld bytes, which makes no sense",
                      (long long) min, (long long) max);
  if (align < min)
    align = min;

  window_init (&reader->window, blkhash_opts_get_block_size (options->hash));
  cursor_init (&reader->cursor, size, align,
               MIN (options->read_size,
                    window_max_range (&reader->window, 2 * reader->nr_conns)),
               options->extents && nbd_can_extents (nbd) ? nbd_extent_at
                                                         : NULL,
               &reader->extents);
  reader->max_request = reader->cursor.max_read;
  if (reader->max_request > max)
    reader->max_request = max & ~(min - 1);
  reader->queue_depth = options->queue_depth;
  reader->queue_size = options->queue_size;
  return 0;
}

/* What can be in flight, and for each thread what it hashes, within reason; or
 * a few reads if they are larger than what is to be in flight.
 */
static size_t
memory_for (const struct nbd_reader *reader, unsigned threads)
{
  size_t max = reader->cursor.max_read;
  size_t in_flight = reader->queue_size, spare = MAX_SPARE;
  size_t least = MAX_MEMORY - MAX_MEMORY % max;

  if (in_flight / max >= reader->queue_depth)
    in_flight = reader->queue_depth * max;
  if (spare / max >= threads)
    spare = threads * max;
  if (least / max > 3)
    least = 3 * max;
  return reader->nr_conns * in_flight + spare > least
    ? reader->nr_conns * in_flight + spare : least;
}

/* With an error in reader->error, or a sum. */
static void
read_and_hash (struct nbd_reader *reader, const struct options *options,
               uint64_t size, struct sum *sum)
{
  reader->leaves = blkhash_leaves_new (options->hash, size,
                                       BLKHASH_LEAVES_ONCE);
  if (!reader->leaves) {
    error_errno (&reader->error, errno, "cannot hash");
    return;
  }
  progress_init (&reader->progress, options, size);
  run_threads (reader, blkhash_opts_get_threads (options->hash));
  if (!error_is_set (&reader->error))
    source_fold (reader->leaves, size, reader->hole, sum, &reader->error);
  progress_end (&reader->progress, !error_is_set (&reader->error));
  blkhash_leaves_free (reader->leaves);
}

/* After an error this aborts what is in flight: the buffers must still be
 * there.
 */
static void
close_conns (struct nbd_reader *reader)
{
  unsigned i;

  for (i = 0; i < reader->nr_conns; i++) {
    /* Say good-bye, but do not wait for the answer. */
    if (!error_is_set (&reader->error))
      nbd_aio_disconnect (reader->conns[i].nbd, 0);
    nbd_close (reader->conns[i].nbd);
  }
}

int
nbd_read_and_hash (const struct options *options,
                   struct nbd_handle **conns, unsigned nr_conns,
                   uint64_t size, struct sum *sum, struct error *error)
{
  struct nbd_reader reader = { .nr_conns = nr_conns };
  unsigned i, threads = blkhash_opts_get_threads (options->hash);
  int err;

  for (i = 0; i < nr_conns; i++)
    reader.conns[i] = (struct conn) {
      .reader = &reader,
      .nbd = conns[i],
      .fd = nbd_aio_get_fd (conns[i]),
    };
  pthread_mutex_init (&reader.cursor_lock, NULL);
  pthread_mutex_init (&reader.window_lock, NULL);
  pthread_cond_init (&reader.has_advanced, NULL);
  pthread_mutex_init (&reader.lock, NULL);
  nbd_extents_init (&reader.extents, size);

  if (setup_requests (&reader, options, conns[0], size) == 0) {
    err = queue_init (&reader.queue, memory_for (&reader, threads),
                      reader.cursor.max_read);
    if (err)
      error_errno (&reader.error, err, "cannot read");
    else
      read_and_hash (&reader, options, size, sum);
    close_conns (&reader);
    queue_destroy (&reader.queue);
  }
  else
    close_conns (&reader);

  nbd_extents_destroy (&reader.extents);
  pthread_mutex_destroy (&reader.lock);
  pthread_cond_destroy (&reader.has_advanced);
  pthread_mutex_destroy (&reader.window_lock);
  pthread_mutex_destroy (&reader.cursor_lock);
  if (error_is_set (&reader.error)) {
    *error = reader.error;
    return -1;
  }
  return 0;
}
