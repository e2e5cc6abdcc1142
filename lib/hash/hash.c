/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The streaming API, for an image that is read sequentially.
 *
 * The caller's thread appends blocks to a pipeline (pipeline.h), and a pool of
 * threads hashes them.  Whole blocks of an asynchronous request are passed to
 * the pipeline without copying; all other data is copied.  The first error is
 * kept in struct blkhash, which the threads of the pool do not access.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_SYS_EVENTFD_H
#include <sys/eventfd.h>
#endif

#include "blkhash.h"
#include "common/fork.h"
#include "common/util.h"
#include "construction/leaf.h"
#include "construction/opts.h"
#include "construction/outer.h"
#include "digest/digest.h"
#include "hash/pipeline.h"
#include "hash/pool.h"

/* ---- Asynchronous requests ----
 *
 * A request has parts, and completes when all of its parts have completed.  It
 * is in the list UNUSED, or has parts that are not complete, or is in the list
 * DONE until it is reaped.  From its start until it is reaped, it is in flight.
 * All requests are allocated in advance, so starting one cannot fail for lack
 * of memory.
 *
 * One thread starts and reaps requests; any thread can complete a part.
 */

struct aio_request {
  struct completions *owner;
  struct aio_request *next;     /* in the list UNUSED or DONE */
  void *user_data;
  size_t parts;                 /* parts that have not completed; protected by
                                 * the lock */
  int error;                    /* protected by the lock */
};

struct completions {
  int fd[2];                    /* read end and write end of a pipe; or the same
                                 * eventfd twice */
  pthread_mutex_t lock;         /* protects the lists and requests' state */
  struct aio_request *unused;
  struct aio_request *done, **done_tail;
  struct aio_request requests[];
};

/* Returns 0, or an errno value. */
static int
open_fds (int fd[2])
{
#ifdef HAVE_EVENTFD
  fd[0] = fd[1] = eventfd (0, EFD_NONBLOCK | EFD_CLOEXEC);
  return fd[0] == -1 ? errno : 0;
#else
  int i;

  if (pipe (fd) == -1)
    return errno;
  for (i = 0; i < 2; i++) {
    fcntl (fd[i], F_SETFL, O_NONBLOCK);
    fcntl (fd[i], F_SETFD, FD_CLOEXEC);
  }
  return 0;
#endif
}

/* DEPTH, at least 1, is the maximum number of requests in flight.  Returns NULL
 * with errno set on failure.  completions_free must be called after all threads
 * that complete parts have ended.
 */
static struct completions *
completions_create (unsigned depth)
{
  struct completions *c;
  unsigned i;
  int err;

  c = calloc (1, sizeof *c + depth * sizeof c->requests[0]);
  if (!c)
    return NULL;
  err = open_fds (c->fd);
  if (err) {
    free (c);
    errno = err;
    return NULL;
  }
  pthread_mutex_init (&c->lock, NULL);
  c->done_tail = &c->done;
  for (i = 0; i < depth; i++) {
    c->requests[i].owner = c;
    c->requests[i].next = c->unused;
    c->unused = &c->requests[i];
  }
  return c;
}

static void
completions_free (struct completions *c)
{
  if (!c)
    return;
  if (c->fd[1] != c->fd[0])
    close (c->fd[1]);
  close (c->fd[0]);
  pthread_mutex_destroy (&c->lock);
  free (c);
}

/* Returns a file descriptor that is readable when requests can be reaped. */
static int
completions_fd (const struct completions *c)
{
  return c->fd[0];
}

/* Make the descriptor readable.  8 bytes are written, as an eventfd requires.
 * If a pipe is full, the write fails, but then the pipe is already readable.
 */
static void
notify (struct completions *c)
{
  const uint64_t one = 1;

  while (write (c->fd[1], &one, sizeof one) == -1 && errno == EINTR)
    ;
}

static void
complete_locked (struct completions *c, struct aio_request *request)
{
  request->next = NULL;
  *c->done_tail = request;
  c->done_tail = &request->next;
  notify (c);
}

/* Start a request of PARTS parts, at least one.  Returns NULL if DEPTH requests
 * are in flight.
 */
static struct aio_request *
completions_start (struct completions *c, void *user_data, size_t parts)
{
  struct aio_request *request;
  SCOPED_LOCK (&c->lock);

  request = c->unused;
  if (!request)
    return NULL;
  c->unused = request->next;
  request->user_data = user_data;
  request->parts = parts;
  request->error = 0;
  return request;
}

/* Complete a part of REQUEST, with 0 or an errno value.  The first error of its
 * parts is the error of the request.
 */
static void
request_part_done (void *opaque, int error)
{
  struct aio_request *request = opaque;
  SCOPED_LOCK (&request->owner->lock);

  if (request->error == 0)
    request->error = error;
  if (--request->parts == 0)
    complete_locked (request->owner, request);
}

/* Store up to COUNT completed requests in OUT.  Returns their number. */
static unsigned
completions_reap (struct completions *c, struct blkhash_completion *out,
                  unsigned count)
{
  unsigned n;
  SCOPED_LOCK (&c->lock);

  for (n = 0; n < count && c->done; n++) {
    struct aio_request *request = c->done;

    c->done = request->next;
    if (!c->done)
      c->done_tail = &c->done;
    out[n].user_data = request->user_data;
    out[n].error = request->error;
    request->next = c->unused;
    c->unused = request;
  }
  /* Keep the descriptor readable if requests are left. */
  if (c->done)
    notify (c);
  return n;
}

/* ---- The hash ---- */

struct blkhash {
  unsigned fork_generation;     /* see fork.h */
  size_t block_size;            /* bytes */
  uint64_t size;                /* bytes appended so far */
  int error;                    /* the first error */
  bool finished;                /* blkhash_final was called */

  struct digest *digest;
  struct leaf_engine *engine;
  struct outer *outer;
  struct pool *pool;
  struct pipeline *pipeline;
  struct completions *completions; /* NULL if the queue depth is 0 */
};

/* Returns 0, or an errno value. */
static int
start (struct blkhash *h, const struct blkhash_opts *opts)
{
  h->block_size = opts->block_size;
  h->digest = digest_create (opts->digest_name);
  if (!h->digest)
    return errno;
  h->engine = leaf_engine_create (h->digest, opts->block_size);
  if (!h->engine)
    return errno;
  h->outer = outer_create (h->digest, &opts->construction,
                           leaf_zero_md (h->engine));
  if (!h->outer)
    return errno;
  h->pool = pipeline_pool_create (opts->threads, opts->block_size);
  if (!h->pool)
    return errno;
  h->pipeline = pipeline_create (h->engine, h->outer, h->pool, opts->block_size,
                                 digest_size (h->digest), opts->threads,
                                 opts->queue_depth);
  if (!h->pipeline)
    return errno;
  if (opts->queue_depth > 0) {
    h->completions = completions_create (opts->queue_depth);
    if (!h->completions)
      return errno;
  }
  return 0;
}

struct blkhash *
blkhash_new_opts (const struct blkhash_opts *opts)
{
  struct blkhash_opts defaults;
  struct blkhash *h;
  int err;

  if (!opts) {
    opts_init (&defaults);
    opts = &defaults;
  }
  h = calloc (1, sizeof *h);
  if (!h)
    return NULL;
  err = fork_watch ();
  h->fork_generation = fork_current ();
  if (err == 0)
    err = start (h, opts);
  if (err) {
    blkhash_free (h);
    errno = err;
    return NULL;
  }
  return h;
}

struct blkhash *
blkhash_new (void)
{
  return blkhash_new_opts (NULL);
}

void
blkhash_free (struct blkhash *h)
{
  int err = errno;

  /* In the child of a fork there are no threads to stop, and what they were
   * changing is in an unknown state.  So nothing is freed.
   */
  if (!h || fork_is_inherited (h->fork_generation))
    return;
  /* Stop the threads first, because they use everything else. */
  pool_free (h->pool);
  completions_free (h->completions);
  pipeline_free (h->pipeline);
  outer_free (h->outer);
  leaf_engine_free (h->engine);
  digest_free (h->digest);
  free (h);
  errno = err;
}

/* Record ERR, unless there was an error before.  Returns the first error.
 * Invalid arguments count too: if an append failed, a program that checks only
 * blkhash_final must not get a digest.
 */
static int
set_error (struct blkhash *h, int err)
{
  if (h->error == 0)
    h->error = err;
  return h->error;
}

/* Can no function but blkhash_free be called? */
static bool
is_over (const struct blkhash *h)
{
  return h->finished || fork_is_inherited (h->fork_generation);
}

static int
check_append (struct blkhash *h, size_t len)
{
  if (is_over (h))
    return EINVAL;
  if (h->error == 0 && len > UINT64_MAX - h->size)
    return set_error (h, EOVERFLOW);
  return h->error;
}

/* Returns how many of LEN bytes belong to the current partial block. */
static size_t
head_length (const struct blkhash *h, size_t len)
{
  size_t partial = pipeline_partial (h->pipeline);

  if (partial == 0)
    return 0;
  return MIN (len, h->block_size - partial);
}

int
blkhash_update (struct blkhash *h, const void *buf, size_t len)
{
  int err = check_append (h, len);

  if (err || len == 0)
    return err;
  if (!buf)
    return set_error (h, EINVAL);
  h->size += len;
  return set_error (h, pipeline_copy (h->pipeline, buf, len));
}

int
blkhash_zero (struct blkhash *h, size_t len)
{
  size_t head;
  int err = check_append (h, len);

  if (err || len == 0)
    return err;
  h->size += len;

  head = head_length (h, len);
  err = pipeline_copy (h->pipeline, NULL, head);
  len -= head;
  if (err == 0 && len >= h->block_size)
    err = pipeline_zeros (h->pipeline, len / h->block_size);
  if (err == 0)
    err = pipeline_copy (h->pipeline, NULL, len % h->block_size);
  return set_error (h, err);
}

int
blkhash_aio_update (struct blkhash *h, const void *buf, size_t len,
                    void *user_data)
{
  const unsigned char *data = buf;
  size_t head, middle, tail;
  struct aio_request *request;
  int err = check_append (h, len);

  if (err)
    return err;
  if (!h->completions)
    return set_error (h, ENOTSUP);
  if (!buf && len > 0)
    return set_error (h, EINVAL);

  head = head_length (h, len);
  tail = (len - head) % h->block_size;
  middle = len - head - tail;
  /* The submission counts as one part, so that the request does not complete
   * before this call has succeeded, and completes even if it has no jobs.
   */
  request = completions_start (h->completions, user_data,
                               pipeline_data_jobs (h->pipeline, middle) + 1);
  if (!request)
    return EAGAIN;
  h->size += len;

  /* Only the two ends, which are shorter than a block, are copied. */
  err = pipeline_copy (h->pipeline, data, head);
  if (err == 0 && middle > 0)
    err = pipeline_data (h->pipeline, data + head, middle,
                         request_part_done, request);
  if (err == 0)
    err = pipeline_copy (h->pipeline, data + head + middle, tail);
  if (err) {
    /* After an error the caller can use BUF again, so wait for the jobs that
     * read it.  The submission, a part of the request, never completes, so the
     * request does not complete either.
     */
    pipeline_finish (h->pipeline);
    return set_error (h, err);
  }
  request_part_done (request, 0);
  return 0;
}

int
blkhash_aio_completion_fd (struct blkhash *h)
{
  if (is_over (h) || !h->completions) {
    errno = is_over (h) ? EINVAL : ENOTSUP;
    return -1;
  }
  return completions_fd (h->completions);
}

int
blkhash_aio_completions (struct blkhash *h,
                         struct blkhash_completion *out, unsigned count)
{
  if (is_over (h))
    return -EINVAL;
  if (!h->completions)
    return -ENOTSUP;
  return completions_reap (h->completions, out, count);
}

int
blkhash_final (struct blkhash *h, unsigned char *md, unsigned int *len)
{
  unsigned char result[BLKHASH_MAX_MD_SIZE];
  int err;

  if (is_over (h))
    return EINVAL;
  h->finished = true;

  /* Wait even after an error, because no buffer may be in use on return. */
  err = set_error (h, pipeline_finish (h->pipeline));
  if (err == 0)
    err = outer_final (h->outer, h->size, result);
  if (err)
    return err;

  memcpy (md, result, digest_size (h->digest));
  if (len)
    *len = digest_size (h->digest);
  return 0;
}
