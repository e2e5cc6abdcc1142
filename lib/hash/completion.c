/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A request is in the list UNUSED, or has parts that are not complete, or is in
 * the list DONE until it is reaped.  All requests are allocated in advance, so
 * starting one cannot fail for lack of memory.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef HAVE_SYS_EVENTFD_H
#include <sys/eventfd.h>
#endif

#include "blkhash.h"
#include "common/cleanup.h"
#include "hash/completion.h"

struct request {
  struct completions *owner;
  struct request *next;         /* in the list UNUSED or DONE */
  void *user_data;
  size_t parts;                 /* parts that have not completed; protected by
                                 * the lock */
  int error;                    /* protected by the lock */
};

struct completions {
  int fd[2];                    /* read end and write end of a pipe; or the same
                                 * eventfd twice */
  pthread_mutex_t lock;         /* protects the lists and requests' state */
  struct request *unused;
  struct request *done, **done_tail;
  struct request requests[];
};

static int
open_fds (int fd[2])
{
#ifdef HAVE_EVENTFD
  fd[0] = fd[1] = eventfd (0, EFD_NONBLOCK | EFD_CLOEXEC);
  return fd[0] == -1 ? -1 : 0;
#else
  int i;

  if (pipe (fd) == -1)
    return -1;
  for (i = 0; i < 2; i++) {
    fcntl (fd[i], F_SETFL, O_NONBLOCK);
    fcntl (fd[i], F_SETFD, FD_CLOEXEC);
  }
  return 0;
#endif
}

struct completions *
completions_create (unsigned depth)
{
  struct completions *c;
  unsigned i;

  c = calloc (1, sizeof *c + depth * sizeof c->requests[0]);
  if (!c)
    return NULL;
  if (open_fds (c->fd) == -1) {
    int err = errno;

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

void
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

int
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
complete_locked (struct completions *c, struct request *request)
{
  request->next = NULL;
  *c->done_tail = request;
  c->done_tail = &request->next;
  notify (c);
}

struct request *
completions_start (struct completions *c, void *user_data, size_t parts)
{
  struct request *request;
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

void
request_part_done (void *opaque, int error)
{
  struct request *request = opaque;
  SCOPED_LOCK (&request->owner->lock);

  if (request->error == 0)
    request->error = error;
  if (--request->parts == 0)
    complete_locked (request->owner, request);
}

unsigned
completions_reap (struct completions *c, struct blkhash_completion *out,
                  unsigned count)
{
  unsigned n;
  SCOPED_LOCK (&c->lock);

  for (n = 0; n < count && c->done; n++) {
    struct request *request = c->done;

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
