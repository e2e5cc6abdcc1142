/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read the tables (the metadata) of an image ahead, in pieces of PREFETCH_PIECE
 * bytes.
 *
 * Background threads read the queued pieces.  If prefetch_copy needs a piece
 * that is still queued, it reads the piece itself, so it never waits for a
 * thread to start.  A piece that cannot be read is dropped, without an error:
 * the caller of prefetch_copy reads the range itself, and reports the error.
 *
 * The states of a piece:
 *
 *   NONE     it is unused
 *   QUEUED   it waits for a thread to read it
 *   READING  a thread is reading it
 *   READY    it contains data; if no piece is unused, the READY piece that was
 *            queued first is reused
 */

#include <config.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "io/prefetch.h"
#include "io/read.h"

#define MAX_THREADS 16

struct piece {
  enum { NONE, QUEUED, READING, READY } state;
  int fd;
  uint64_t start;               /* offset in the file, bytes */
  size_t len;
  void *bytes;                  /* NULL until the piece is used */
  uint64_t number;              /* sequence number in the queue */
};

struct prefetch {
  pthread_mutex_t lock;         /* protects the fields below, except the bytes
                                 * of a piece that is READING */
  pthread_cond_t has_queued, was_read;
  struct piece pieces[PREFETCH_COUNT];
  uint64_t queued;              /* number of pieces ever queued */
  pthread_t threads[MAX_THREADS];
  unsigned started, idle;       /* numbers of threads; IDLE ones wait for
                                 * HAS_QUEUED */
  bool stopped;
};

struct prefetch *
prefetch_new (void)
{
  struct prefetch *prefetch = calloc (1, sizeof *prefetch);

  if (!prefetch)
    return NULL;
  pthread_mutex_init (&prefetch->lock, NULL);
  pthread_cond_init (&prefetch->has_queued, NULL);
  pthread_cond_init (&prefetch->was_read, NULL);
  return prefetch;
}

static void
stop (struct prefetch *prefetch)
{
  SCOPED_LOCK (&prefetch->lock);

  prefetch->stopped = true;
  pthread_cond_broadcast (&prefetch->has_queued);
}

void
prefetch_free (struct prefetch *prefetch)
{
  if (!prefetch)
    return;
  stop (prefetch);
  for (unsigned i = 0; i < prefetch->started; i++)
    pthread_join (prefetch->threads[i], NULL);
  for (unsigned i = 0; i < PREFETCH_COUNT; i++)
    free (prefetch->pieces[i].bytes);
  pthread_cond_destroy (&prefetch->was_read);
  pthread_cond_destroy (&prefetch->has_queued);
  pthread_mutex_destroy (&prefetch->lock);
  free (prefetch);
}

/* ---- Pieces ---- */

/* Returns the piece in STATE that was queued first, or NULL. */
static struct piece *
oldest_locked (struct prefetch *prefetch, int state)
{
  struct piece *oldest = NULL;

  for (unsigned i = 0; i < PREFETCH_COUNT; i++) {
    struct piece *piece = &prefetch->pieces[i];

    if ((int) piece->state == state &&
        (!oldest || piece->number < oldest->number))
      oldest = piece;
  }
  return oldest;
}

/* Returns the piece for OFFSET of FD in any state but NONE, or NULL. */
static struct piece *
find_locked (struct prefetch *prefetch, int fd, uint64_t offset)
{
  for (unsigned i = 0; i < PREFETCH_COUNT; i++) {
    struct piece *piece = &prefetch->pieces[i];

    if (piece->state != NONE && piece->fd == fd &&
        piece->start == ROUND_DOWN (offset, (uint64_t) PREFETCH_PIECE))
      return piece;
  }
  return NULL;
}

/* Read PIECE, which is queued.  The lock is released during the read. */
static void
read_locked (struct prefetch *prefetch, struct piece *piece)
{
  const struct read_file file = { .fd = piece->fd, .direct_fd = -1 };
  int err;

  piece->state = READING;
  pthread_mutex_unlock (&prefetch->lock);
  err = read_range (&file, piece->bytes, PREFETCH_PIECE, piece->len,
                    piece->start);
  pthread_mutex_lock (&prefetch->lock);
  piece->state = err ? NONE : READY;
  pthread_cond_broadcast (&prefetch->was_read);
}

/* ---- Threads ---- */

static void *
run_thread (void *opaque)
{
  struct prefetch *prefetch = opaque;
  SCOPED_LOCK (&prefetch->lock);

  while (!prefetch->stopped) {
    struct piece *piece = oldest_locked (prefetch, QUEUED);

    if (piece) {
      read_locked (prefetch, piece);
      continue;
    }
    prefetch->idle++;
    pthread_cond_wait (&prefetch->has_queued, &prefetch->lock);
    prefetch->idle--;
  }
  return NULL;
}

static void
start_thread_locked (struct prefetch *prefetch)
{
  if (prefetch->started < MAX_THREADS &&
      pthread_create (&prefetch->threads[prefetch->started], NULL, run_thread,
                      prefetch) == 0)
    prefetch->started++;
}

/* ---- Queue and copy ---- */

static bool
queue_locked (struct prefetch *prefetch, int fd, uint64_t start, size_t len)
{
  struct piece *piece = oldest_locked (prefetch, NONE);

  if (!piece)
    piece = oldest_locked (prefetch, READY);
  if (!piece)
    return false;
  if (!piece->bytes)
    piece->bytes = read_alloc (PREFETCH_PIECE);
  if (!piece->bytes)
    return false;
  piece->state = QUEUED;
  piece->fd = fd;
  piece->start = start;
  piece->len = len;
  piece->number = prefetch->queued++;
  if (prefetch->idle == 0)
    start_thread_locked (prefetch);
  pthread_cond_signal (&prefetch->has_queued);
  return true;
}

void
prefetch_start (struct prefetch *prefetch, int fd, uint64_t size, size_t len,
                uint64_t offset)
{
  uint64_t start = ROUND_DOWN (offset, (uint64_t) PREFETCH_PIECE);
  SCOPED_LOCK (&prefetch->lock);

  for (; start < size && start < offset + len; start += PREFETCH_PIECE)
    if (!find_locked (prefetch, fd, start) &&
        !queue_locked (prefetch, fd, start,
                       MIN (PREFETCH_PIECE, size - start)))
      break;
}

bool
prefetch_copy (struct prefetch *prefetch, int fd, void *buf, size_t len,
               uint64_t offset)
{
  struct piece *piece;
  SCOPED_LOCK (&prefetch->lock);

  while ((piece = find_locked (prefetch, fd, offset)) &&
         piece->state != READY)
    if (piece->state == QUEUED)
      read_locked (prefetch, piece);
    else
      pthread_cond_wait (&prefetch->was_read, &prefetch->lock);
  if (!piece || offset - piece->start + len > piece->len)
    return false;
  memcpy (buf, (char *) piece->bytes + (offset - piece->start), len);
  return true;
}
