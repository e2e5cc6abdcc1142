/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The view that a connection of snapshot-plugin.c has of the disk.
 *
 * With any thread model, nbdkit's multi-conn filter flushes a connection in the
 * thread of another one.  The lock is no mutex, because hold.c counts mutexes.
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "snapshot-view.h"

struct view {
  int disk;
  size_t size;
  bool shared;                  /* the disk itself; BYTES and DIRTY are NULL */
  pthread_rwlock_t lock;        /* protects the fields below */
  char *bytes;
  char *dirty;                  /* for each byte, whether it must be written to
                                 * the disk; NULL: nothing must be */
};

struct view *
view_open (enum view_kind kind, int disk, size_t size)
{
  struct view *view = calloc (1, sizeof *view);

  if (!view)
    return NULL;
  pthread_rwlock_init (&view->lock, NULL);
  view->disk = disk;
  view->size = size;
  view->shared = kind == VIEW_SHARED;
  if (view->shared)
    return view;
  view->bytes = malloc (size);
  if (kind == VIEW_BACK)
    view->dirty = calloc (1, size);
  if (!view->bytes || (kind == VIEW_BACK && !view->dirty) ||
      view_refresh (view) == -1) {
    view_close (view);
    return NULL;
  }
  return view;
}

void
view_close (struct view *view)
{
  pthread_rwlock_destroy (&view->lock);
  free (view->bytes);
  free (view->dirty);
  free (view);
}

int
view_read (struct view *view, void *buf, size_t len, uint64_t offset)
{
  if (!view->shared) {
    pthread_rwlock_rdlock (&view->lock);
    memcpy (buf, view->bytes + offset, len);
    pthread_rwlock_unlock (&view->lock);
    return 0;
  }
  if (pread (view->disk, buf, len, offset) == (ssize_t) len)
    return 0;
  nbdkit_error ("pread: %m");
  return -1;
}

static int
write_disk (const struct view *view, const void *buf, size_t len,
            uint64_t offset)
{
  if (pwrite (view->disk, buf, len, offset) == (ssize_t) len)
    return 0;
  nbdkit_error ("pwrite: %m");
  return -1;
}

static int
write_locked (struct view *view, const void *buf, size_t len, uint64_t offset)
{
  if (view->bytes)
    memcpy (view->bytes + offset, buf, len);
  if (!view->dirty)
    return write_disk (view, buf, len, offset);
  memset (view->dirty + offset, 1, len);
  return 0;
}

int
view_write (struct view *view, const void *buf, size_t len, uint64_t offset)
{
  int r;

  if (view->shared)
    return write_disk (view, buf, len, offset);
  pthread_rwlock_wrlock (&view->lock);
  r = write_locked (view, buf, len, offset);
  pthread_rwlock_unlock (&view->lock);
  return r;
}

static int
write_back_locked (struct view *view)
{
  const char *dirty = view->dirty, *start, *end;

  if (!dirty)
    return 0;
  for (start = dirty; (start = memchr (start, 1, dirty + view->size - start));
       start = end) {
    end = memchr (start, 0, dirty + view->size - start);
    if (!end)
      end = dirty + view->size;
    if (write_disk (view, view->bytes + (start - dirty), end - start,
                    start - dirty) == -1)
      return -1;
  }
  memset (view->dirty, 0, view->size);
  return 0;
}

int
view_write_back (struct view *view)
{
  int r;

  pthread_rwlock_wrlock (&view->lock);
  r = write_back_locked (view);
  pthread_rwlock_unlock (&view->lock);
  return r;
}

void
view_lose (struct view *view)
{
  pthread_rwlock_wrlock (&view->lock);
  if (view->dirty)
    memset (view->dirty, 0, view->size);
  pthread_rwlock_unlock (&view->lock);
}

/* Bytes that were written since the last write back remain dirty. */
static int
refresh_locked (struct view *view)
{
  char *bytes = malloc (view->size);
  size_t i;

  if (!bytes || pread (view->disk, bytes, view->size, 0) !=
                (ssize_t) view->size) {
    nbdkit_error ("cannot read the disk: %m");
    free (bytes);
    return -1;
  }
  for (i = 0; view->dirty && i < view->size; i++)
    if (view->dirty[i])
      bytes[i] = view->bytes[i];
  free (view->bytes);
  view->bytes = bytes;
  return 0;
}

int
view_refresh (struct view *view)
{
  int r;

  if (view->shared)
    return 0;
  pthread_rwlock_wrlock (&view->lock);
  r = refresh_locked (view);
  pthread_rwlock_unlock (&view->lock);
  return r;
}
