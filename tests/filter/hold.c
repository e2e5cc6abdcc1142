/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of a plugin that a test can hold.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/socket.h>

#include "hold.h"

const char *hold_dir;

void
hold (const char *call)
{
  char *path, c;
  int fd;

  if (!hold_dir || asprintf (&path, "%s/%s", hold_dir, call) == -1)
    return;
  do
    fd = open (path, O_RDONLY | O_CLOEXEC);
  while (fd == -1 && errno == EINTR);
  free (path);
  if (fd == -1)
    return;
  while (read (fd, &c, 1) == -1 && errno == EINTR)
    ;
  close (fd);
}

/* ---- Locks ---- */

static _Thread_local int steps; /* locks to take until it is held; 0: never */
static _Thread_local int depth; /* locks that the thread holds */

void
hold_after (const char *call)
{
  char *path;
  FILE *f;

  if (!hold_dir ||
      asprintf (&path, "%s/lock-after-%s", hold_dir, call) == -1)
    return;
  f = fopen (path, "r");
  if (f) {
    if (fscanf (f, "%d", &steps) != 1)
      steps = 0;
    depth = 0;
    fclose (f);
    unlink (path);
  }
  free (path);
}

/* Replace the functions of libc, by LD_PRELOAD. */
int
pthread_mutex_lock (pthread_mutex_t *mutex)
{
  static int (*next) (pthread_mutex_t *);

  if (!next)
    next = (int (*) (pthread_mutex_t *)) dlsym (RTLD_NEXT,
                                                "pthread_mutex_lock");
  if (steps > 0 && depth++ == 0 && --steps == 0)
    hold ("lock");
  return next (mutex);
}

int
pthread_mutex_unlock (pthread_mutex_t *mutex)
{
  static int (*next) (pthread_mutex_t *);

  if (!next)
    next = (int (*) (pthread_mutex_t *)) dlsym (RTLD_NEXT,
                                                "pthread_mutex_unlock");
  if (depth > 0)
    depth--;
  return next (mutex);
}

/* ---- The end of nbdkit ---- */

struct thread {
  void *(*function) (void *);
  void *argument;
};

static void *
run_held (void *opaque)
{
  struct thread thread = *(struct thread *) opaque;

  free (opaque);
  hold ("thread");
  return thread.function (thread.argument);
}

int
pthread_create (pthread_t *id, const pthread_attr_t *attributes,
                void *(*function) (void *), void *argument)
{
  static int (*next) (pthread_t *, const pthread_attr_t *, void *(*) (void *),
                      void *);
  struct thread *thread = malloc (sizeof *thread);

  if (!thread)
    return errno;
  if (!next)
    next = (int (*) (pthread_t *, const pthread_attr_t *, void *(*) (void *),
                     void *)) dlsym (RTLD_NEXT, "pthread_create");
  *thread = (struct thread) { function, argument };
  return next (id, attributes, run_held, thread);
}

int
close (int fd)
{
  static int (*next) (int);
  int listens;
  socklen_t len = sizeof listens;

  if (!next)
    next = (int (*) (int)) dlsym (RTLD_NEXT, "close");
  if (getsockopt (fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 &&
      listens)
    hold ("listening");
  return next (fd);
}
