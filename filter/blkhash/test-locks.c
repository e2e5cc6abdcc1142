/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: intercepts every lock, and calls that change files.
 *
 * The kind of a lock is the address of the code that initialized it, or, for a
 * static lock, its own address.  Kinds are the nodes of a graph: an arrow leads
 * from kind A to kind B if a lock of kind B was taken while a lock of kind A
 * was held.  The graph must have no cycle.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "blkhash/test-locks.h"

#define MAX_KINDS 64
#define MAX_HELD 8
#define MAX_LOCKS (1u << 17)    /* a power of two */

int __real_pthread_mutex_init (pthread_mutex_t *, const pthread_mutexattr_t *);
int __real_pthread_mutex_lock (pthread_mutex_t *);
int __real_pthread_mutex_trylock (pthread_mutex_t *);
int __real_pthread_mutex_unlock (pthread_mutex_t *);
int __wrap_pthread_mutex_init (pthread_mutex_t *, const pthread_mutexattr_t *);
int __wrap_pthread_mutex_lock (pthread_mutex_t *);
int __wrap_pthread_mutex_trylock (pthread_mutex_t *);
int __wrap_pthread_mutex_unlock (pthread_mutex_t *);
ssize_t __real_write (int, const void *, size_t);
ssize_t __real_pwrite (int, const void *, size_t, off_t);
int __real_flock (int, int);
int __real_fsync (int);
int __real_rename (const char *, const char *);
ssize_t __wrap_write (int, const void *, size_t);
ssize_t __wrap_pwrite (int, const void *, size_t, off_t);
int __wrap_flock (int, int);
int __wrap_fsync (int);
int __wrap_rename (const char *, const char *);

/* These are atomic, and are read without a lock: a lock would order the
 * threads, and so hide races from TSan.
 */
static struct {
  _Atomic (const void *) lock, kind;
} locks[MAX_LOCKS];             /* hash table of initialized locks */
static _Atomic (const void *) kinds[MAX_KINDS];
static atomic_uint nr_kinds;
static atomic_bool arrows[MAX_KINDS][MAX_KINDS]; /* from held to taken */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER; /* held to add to
                                                            * these */

static _Thread_local struct {
  const pthread_mutex_t *lock;
  unsigned kind;
} held[MAX_HELD];
static _Thread_local unsigned nr_held, taken, taken_watched;
static _Thread_local const pthread_mutex_t *watched;

static void
fail (const char *what, unsigned kind, unsigned other)
{
  fprintf (stderr, "%s: the locks of %p and of %p, "
           "see addr2line or the debugger\n", what, (void *) kinds[kind],
           (void *) kinds[other]);
  abort ();
}

/* Returns the slot of LOCK in locks, or a free slot. */
static unsigned
find_slot (const void *lock)
{
  unsigned i = (uintptr_t) lock / 16 * 2654435761u % MAX_LOCKS;
  const void *found;

  while ((found = locks[i].lock) && found != lock)
    i = (i + 1) % MAX_LOCKS;
  return i;
}

static unsigned
find_kind (const void *kind)
{
  unsigned i = 0;

  while (i < nr_kinds && kinds[i] != kind)
    i++;
  return i;
}

static unsigned
kind_of (const pthread_mutex_t *lock)
{
  unsigned slot = find_slot (lock), i;
  const void *kind = locks[slot].lock ? locks[slot].kind : lock;

  i = find_kind (kind);
  if (i < nr_kinds)
    return i;
  __real_pthread_mutex_lock (&adding);
  i = find_kind (kind);
  if (i == MAX_KINDS)
    abort ();
  if (i == nr_kinds) {
    kinds[i] = kind;
    nr_kinds++;
  }
  __real_pthread_mutex_unlock (&adding);
  return i;
}

/* Add an arrow, and one from each node to every node that it now reaches. */
static void
add_arrow (unsigned from, unsigned to)
{
  unsigned i, j;

  __real_pthread_mutex_lock (&adding);
  if (arrows[to][from])
    fail ("taken in both orders", to, from);
  for (i = 0; i < nr_kinds; i++)
    for (j = 0; j < nr_kinds; j++)
      if ((i == from || arrows[i][from]) && (j == to || arrows[to][j]))
        arrows[i][j] = true;
  __real_pthread_mutex_unlock (&adding);
}

/* ---- Locks ---- */

static void
push (const pthread_mutex_t *lock, unsigned kind)
{
  if (nr_held == MAX_HELD)
    abort ();
  held[nr_held].lock = lock;
  held[nr_held++].kind = kind;
  taken++;
  taken_watched += lock == watched;
}

int
__wrap_pthread_mutex_init (pthread_mutex_t *lock,
                           const pthread_mutexattr_t *attr)
{
  unsigned slot;

  __real_pthread_mutex_lock (&adding);
  slot = find_slot (lock);
  locks[slot].kind = __builtin_return_address (0);
  locks[slot].lock = lock;
  __real_pthread_mutex_unlock (&adding);
  return __real_pthread_mutex_init (lock, attr);
}

int
__wrap_pthread_mutex_lock (pthread_mutex_t *lock)
{
  unsigned kind = kind_of (lock), i;

  for (i = 0; i < nr_held; i++) {
    if (held[i].kind == kind)
      fail ("two of one kind", kind, kind);
    if (!arrows[held[i].kind][kind])
      add_arrow (held[i].kind, kind);
  }
  push (lock, kind);
  return __real_pthread_mutex_lock (lock);
}

/* trylock does not wait, so it cannot deadlock, and adds no arrow. */
int
__wrap_pthread_mutex_trylock (pthread_mutex_t *lock)
{
  int r = __real_pthread_mutex_trylock (lock);

  if (r == 0)
    push (lock, kind_of (lock));
  return r;
}

int
__wrap_pthread_mutex_unlock (pthread_mutex_t *lock)
{
  unsigned i;

  for (i = nr_held; i > 0; i--)
    if (held[i - 1].lock == lock)
      break;
  if (i == 0)
    abort ();
  memmove (&held[i - 1], &held[i], (nr_held - i) * sizeof held[0]);
  nr_held--;
  return __real_pthread_mutex_unlock (lock);
}

/* ---- Files ---- */

_Thread_local int (*on_file_call) (const char *call);
_Thread_local uint64_t file_bytes_written;

/* Asserts that no lock is held.  Returns true, with errno set, if CALL must
 * fail.
 */
static bool
see_file_call (const char *call)
{
  int err;

  assert (nr_held == 0);
  err = on_file_call ? on_file_call (call) : 0;
  if (err)
    errno = err;
  return err != 0;
}

ssize_t
__wrap_write (int fd, const void *buf, size_t len)
{
  if (see_file_call ("write"))
    return -1;
  file_bytes_written += len;
  return __real_write (fd, buf, len);
}

ssize_t
__wrap_pwrite (int fd, const void *buf, size_t len, off_t offset)
{
  if (see_file_call ("pwrite"))
    return -1;
  file_bytes_written += len;
  return __real_pwrite (fd, buf, len, offset);
}

int
__wrap_flock (int fd, int operation)
{
  return see_file_call ("flock") ? -1 : __real_flock (fd, operation);
}

int
__wrap_fsync (int fd)
{
  return see_file_call ("fsync") ? -1 : __real_fsync (fd);
}

int
__wrap_rename (const char *from, const char *to)
{
  return see_file_call ("rename") ? -1 : __real_rename (from, to);
}

#ifdef HAVE_RENAMEAT2
int __real_renameat2 (int, const char *, int, const char *, unsigned);
int __wrap_renameat2 (int, const char *, int, const char *, unsigned);

int
__wrap_renameat2 (int dir, const char *from, int to_dir, const char *to,
                  unsigned flags)
{
  return see_file_call ("rename") ? -1
    : __real_renameat2 (dir, from, to_dir, to, flags);
}
#endif

/* ---- Results ---- */

unsigned
locks_held (void)
{
  return nr_held;
}

bool
locks_holds (const pthread_mutex_t *lock)
{
  unsigned i;

  for (i = 0; i < nr_held; i++)
    if (held[i].lock == lock)
      return true;
  return false;
}

unsigned
locks_taken (void)
{
  return taken;
}

void
locks_watch (pthread_mutex_t *lock)
{
  watched = lock;
  taken_watched = 0;
}

unsigned
locks_taken_watched (void)
{
  return taken_watched;
}

unsigned
locks_below (pthread_mutex_t *lock)
{
  unsigned kind = kind_of (lock), i, count = 0;

  for (i = 0; i < nr_kinds; i++)
    count += arrows[kind][i];
  return count;
}
