/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../lib/common/clock.h"
#include "../lib/common/util.h"
#include "../lib/digest/digest.h"
#include "read/content.h"
#include "util/content-sums.h"
#include "util/error.h"
#include "util/progress.h"

#define STEP (1024 * 1024)      /* bytes that a digest hashes at a time: buffers
                                 * are released, and threads stop, after each
                                 * step */

/* Zeros are hashed from here.  It fits into the L1 cache with what a digest
 * needs, and is large enough for the lanes of BLAKE3.
 */
static const unsigned char zeros[16 * 1024];

/* A digest, and its thread. */
struct content_digest {
  struct content *content;
  struct digest *digest;
  struct digest_ctx *ctx;       /* used by the thread until it rests */
  pthread_t thread;
  uint64_t position;            /* bytes that were hashed; protected by
                                 * content->lock */
};

struct content {
  /* Set once. */
  struct content_digest digests[CONTENT_MAX_SUMS];
  unsigned count;               /* of DIGESTS, which have a thread each */
  struct content_sums sums;     /* used by content_finish */

  /* Set while no thread has work. */
  content_advanced_function advanced;
  void *opaque;
  const struct progress *progress;

  pthread_mutex_t lock;         /* protects the fields below, and the pieces */
  pthread_cond_t has_piece;     /* there is a piece, or STOPPED was set */
  pthread_cond_t has_rested;    /* RESTING has grown to COUNT */
  struct content_piece *first;  /* sorted by their offsets */
  uint64_t position;            /* the lowest of all digests */
  unsigned resting;             /* threads that wait for a piece, or have
                                 * ended */
  bool stopped;                 /* the digests are not needed */
  int err;                      /* first error of a digest, or 0 */
};

/* ---- Pieces ---- */

/* Returns the piece at OFFSET, or NULL. */
static const struct content_piece *
find_piece_locked (const struct content *content, uint64_t offset)
{
  const struct content_piece *piece = content->first;

  while (piece && piece->offset + piece->len <= offset)
    piece = piece->next;
  return piece && piece->offset <= offset ? piece : NULL;
}

/* Returns where to insert a piece at OFFSET, and sets *BEFORE to the piece
 * before that, or NULL.
 */
static struct content_piece **
find_place_locked (struct content *content, uint64_t offset,
                   struct content_piece **before)
{
  struct content_piece **place = &content->first;

  for (*before = NULL; *place && (*place)->offset < offset;
       place = &(*place)->next)
    *before = *place;
  return place;
}

static void
insert_locked (struct content_piece **place, struct content_piece *piece)
{
  piece->next = *place;
  *place = piece;
}

/* Remove the pieces that all digests have passed.  Returns them as a list. */
static struct content_piece *
take_passed_locked (struct content *content)
{
  struct content_piece *passed = content->first, **end = &passed;

  while (*end && (*end)->offset + (*end)->len <= content->position)
    end = &(*end)->next;
  content->first = *end;
  *end = NULL;
  return passed;
}

/* Free the pieces of the list FIRST, and release their buffers.  The other
 * pieces of a buffer are before the one that has it.
 */
static void
release_pieces (struct content *content, struct content_piece *first)
{
  struct content_piece *next;

  for (; first; first = next) {
    next = first->next;
    if (!first->data)
      free (first);
    else if (first->buffer)
      content->advanced (content->opaque, first->buffer);
  }
}

/* ---- The thread of a digest ---- */

static int
hash_step (struct content_digest *digest, const unsigned char *data, size_t len)
{
  int err = 0;

  if (data)
    return digest_update (digest->ctx, data, len);
  while (len > 0 && err == 0) {
    size_t n = MIN (len, sizeof zeros);

    err = digest_update (digest->ctx, zeros, n);
    len -= n;
  }
  return err;
}

/* Returns by how many bytes the lowest position has grown. */
static uint64_t
advance_locked (struct content *content)
{
  uint64_t before = content->position, lowest = UINT64_MAX;

  for (unsigned i = 0; i < content->count; i++)
    lowest = MIN (lowest, content->digests[i].position);
  content->position = lowest;
  return lowest - before;
}

/* Hash a step of PIECE.  Releases the lock meanwhile.  After an error the
 * digest goes on, so that buffers are released; content_finish returns the
 * error.
 */
static void
take_step_locked (struct content_digest *digest,
                  const struct content_piece *piece)
{
  struct content *content = digest->content;
  uint64_t skip = digest->position - piece->offset, advanced;
  const unsigned char *data = piece->data ? piece->data + skip : NULL;
  size_t len = MIN (piece->len - skip, STEP);
  struct content_piece *passed;
  int err;

  pthread_mutex_unlock (&content->lock);
  err = hash_step (digest, data, len);
  pthread_mutex_lock (&content->lock);
  if (err && !content->err)
    content->err = err;
  digest->position += len;
  advanced = advance_locked (content);
  if (advanced == 0)
    return;
  passed = take_passed_locked (content);
  pthread_mutex_unlock (&content->lock);
  release_pieces (content, passed);
  if (content->advanced)
    content->advanced (content->opaque, NULL);
  progress_add (content->progress, advanced);
  pthread_mutex_lock (&content->lock);
}

static void
rest_locked (struct content *content)
{
  if (++content->resting == content->count)
    pthread_cond_signal (&content->has_rested);
}

static void *
run (void *opaque)
{
  struct content_digest *digest = opaque;
  struct content *content = digest->content;
  SCOPED_LOCK (&content->lock);

  while (!content->stopped) {
    const struct content_piece *piece =
      find_piece_locked (content, digest->position);

    if (piece)
      take_step_locked (digest, piece);
    else {
      rest_locked (content);
      pthread_cond_wait (&content->has_piece, &content->lock);
      content->resting--;
    }
  }
  rest_locked (content);
  return NULL;
}

/* ---- Create and free ---- */

/* On failure nothing needs to be freed.  Returns 0 or an errno value. */
static int
start_digest (struct content_digest *digest, const char *name)
{
  int err = 0;

  digest->digest = digest_create (name);
  digest->ctx = digest->digest ? digest_ctx_create (digest->digest) : NULL;
  if (!digest->ctx)
    err = errno;
  if (err == 0)
    err = digest_init (digest->ctx);
  if (err == 0)
    err = pthread_create (&digest->thread, NULL, run, digest);
  if (err) {
    digest_ctx_free (digest->ctx);
    digest_free (digest->digest);
  }
  return err;
}

/* The lock is held until all threads are counted. */
static int
start_locked (struct content *content, const struct content_sums *sums,
              struct error *error)
{
  for (unsigned i = 0; i < sums->count; i++) {
    struct content_digest *digest = &content->digests[i];
    int err;

    digest->content = content;
    err = start_digest (digest, sums->sums[i].digest);
    if (err)
      return error_errno (error, err, "cannot compute %s of the content",
                          sums->sums[i].digest);
    content->count++;
  }
  return 0;
}

struct content *
content_create (const struct content_sums *sums, struct error *error)
{
  struct content *content = calloc (1, sizeof *content);
  int r;

  if (!content) {
    error_errno (error, errno, "cannot hash");
    return NULL;
  }
  content->sums = *sums;
  pthread_mutex_init (&content->lock, NULL);
  pthread_cond_init (&content->has_piece, NULL);
  clock_cond_init (&content->has_rested);
  {
    SCOPED_LOCK (&content->lock);

    r = start_locked (content, sums, error);
  }
  if (r == -1) {
    content_free (content);
    return NULL;
  }
  return content;
}

static void
stop_locked (struct content *content)
{
  content->stopped = true;
  pthread_cond_broadcast (&content->has_piece);
}

void
content_free (struct content *content)
{
  if (!content)
    return;
  {
    SCOPED_LOCK (&content->lock);

    stop_locked (content);
  }
  for (unsigned i = 0; i < content->count; i++) {
    pthread_join (content->digests[i].thread, NULL);
    digest_ctx_free (content->digests[i].ctx);
    digest_free (content->digests[i].digest);
  }
  release_pieces (content, content->first);
  pthread_cond_destroy (&content->has_rested);
  pthread_cond_destroy (&content->has_piece);
  pthread_mutex_destroy (&content->lock);
  free (content);
}

/* ---- For a reader and a scan ---- */

void
content_attach (struct content *content, content_advanced_function advanced,
                void *opaque, const struct progress *progress)
{
  SCOPED_LOCK (&content->lock);

  content->advanced = advanced;
  content->opaque = opaque;
  content->progress = progress;
}

void
content_add_data (struct content *content, struct content_piece *pieces,
                  unsigned count)
{
  SCOPED_LOCK (&content->lock);

  for (unsigned i = 0; i < count; i++) {
    struct content_piece *before;

    insert_locked (find_place_locked (content, pieces[i].offset, &before),
                   &pieces[i]);
  }
  pthread_cond_broadcast (&content->has_piece);
}

int
content_add_zero (struct content *content, uint64_t len, uint64_t offset)
{
  SCOPED_LOCK (&content->lock);
  struct content_piece *before, *piece,
    **place = find_place_locked (content, offset, &before);

  if (before && !before->data && before->offset + before->len == offset)
    before->len += len;
  else {
    piece = malloc (sizeof *piece);
    if (!piece)
      return ENOMEM;
    *piece = (struct content_piece) { .offset = offset, .len = len };
    insert_locked (place, piece);
  }
  pthread_cond_broadcast (&content->has_piece);
  return 0;
}

uint64_t
content_position (struct content *content)
{
  SCOPED_LOCK (&content->lock);

  return content->position;
}

/* Returns true if no thread uses a piece, and none has one to hash.  A thread
 * that was woken for a piece can still be counted as resting.
 */
static bool
all_rest_locked (const struct content *content)
{
  if (content->resting < content->count)
    return false;
  for (unsigned i = 0; i < content->count && !content->stopped; i++)
    if (find_piece_locked (content, content->digests[i].position))
      return false;
  return true;
}

bool
content_wait (struct content *content, uint64_t timeout)
{
  uint64_t until = clock_ns () + timeout;
  int r = 0;
  SCOPED_LOCK (&content->lock);

  while (!all_rest_locked (content) && r == 0)
    r = clock_cond_wait (&content->has_rested, &content->lock, until);
  return all_rest_locked (content);
}

void
content_stop (struct content *content)
{
  SCOPED_LOCK (&content->lock);

  stop_locked (content);
}

void
content_detach (struct content *content)
{
  struct content_piece *left;

  {
    SCOPED_LOCK (&content->lock);

    left = content->first;
    content->first = NULL;
  }
  release_pieces (content, left);
  content_attach (content, NULL, NULL, NULL);
}

/* ---- The end ---- */

/* All threads rest. */
int
content_finish (struct content *content, uint64_t size,
                struct content_sums *sums, struct error *error)
{
  int err;
  SCOPED_LOCK (&content->lock);

  err = content->err;
  for (unsigned i = 0; i < content->count && err == 0; i++) {
    struct content_digest *digest = &content->digests[i];

    /* A byte that is missing would be a defect of the reader. */
    err = digest->position == size
      ? digest_final (digest->ctx, content->sums.sums[i].md) : EIO;
    content->sums.sums[i].md_len = digest_size (digest->digest);
  }
  *sums = content->sums;
  return err ? error_errno (error, err, "cannot hash the content") : 0;
}
