/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: a plugin whose disk is memory, and whose connections can each
 * have their own view of it.
 *
 * Each request except a prefetch asserts that the caller holds no lock.
 *
 * Other connections are sure to see a change only when NBD promises that: after
 * a flush of the connection that made the change, or if the change had FUA;
 * without multi-conn the other connections must flush, too.  They can see the
 * change earlier, because a view is a cache: it can write changes back to the
 * disk, and read the disk again, at any time.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../lib/common/util.h"
#include "../lib/common/zero.h"
#include "blkhash/test-locks.h"
#include "blkhash/test-nbdkit.h"
#include "blkhash/test-plugin.h"

#define UNIT 512                /* bytes of the smallest extent */

struct view {
  nbdkit_next next;             /* first, so its address is the view's */
  struct view *next_view;       /* protected by disk_lock, as the bytes are */
  unsigned char *bytes;         /* NULL: the disk itself */
  unsigned char *dirty;         /* 1 for each byte that was changed, and is not
                                 * written to the disk yet */
  unsigned seed;                /* the first disk_seed of a thread of the filter
                                 * that reads through this view, or 0 */
};

unsigned char *disk;
unsigned disk_failures;
int (*disk_on_read) (void);
void (*disk_on_written) (void);
bool (*disk_lies) (uint64_t offset);
atomic_uint disk_flushes_failed;
struct disk_mode disk_mode = { .multi_conn = true };
_Thread_local unsigned disk_seed;

static uint64_t disk_size;
static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned calls;          /* reads and writes; protected by disk_lock */
static struct view *views;
static const char *manifest;    /* path */

void
plugin_start (uint64_t size, const char *manifest_path)
{
  disk_size = size;
  manifest = manifest_path;
  disk = calloc (1, size);
  if (!disk)
    abort ();
}

void
disk_resize (uint64_t size)
{
  disk_size = size;
}

void
plugin_stop (void)
{
  free (disk);
}

/* ---- Random events ---- */

static bool
one_in (unsigned n)
{
  return disk_seed != 0 && (unsigned) rand_r (&disk_seed) % n == 0;
}

static void
maybe_yield (void)
{
  if (one_in (4))
    sched_yield ();
}

/* Sleep long enough that the filter starts another thread. */
static void
maybe_wait (void)
{
  const struct timespec wait = { .tv_nsec = 1500000 };

  if (one_in (8))
    nanosleep (&wait, NULL);
}

/* Returns true if this read or write must fail. */
static bool
fails_locked (int *err)
{
  *err = EIO;
  return disk_failures > 0 && ++calls % disk_failures == 0;
}

/* ---- Views ---- */

/* Update VIEW from the disk, except for its own changes. */
static void
refresh_locked (struct view *view, uint64_t offset, uint64_t end)
{
  const unsigned char *dirty = view->dirty, *next;
  uint64_t len;

  for (; dirty && offset < end; offset += len) {
    next = memchr (dirty + offset, !dirty[offset], end - offset);
    len = next ? next - (dirty + offset) : end - offset;
    if (!dirty[offset])
      memcpy (view->bytes + offset, disk + offset, len);
  }
}

/* Update VIEW from the disk, and with multi-conn every other view. */
static void
refresh (struct view *view, uint64_t offset, uint64_t end)
{
  SCOPED_LOCK (&disk_lock);

  refresh_locked (view, offset, end);
  if (disk_mode.multi_conn)
    for (view = views; view; view = view->next_view)
      refresh_locked (view, offset, end);
}

/* Find the first dirty range of VIEW at or after *OFFSET, and write it to the
 * disk, or discard it if LOSE is set.  Returns false if there is none.
 */
static bool
write_back_next (struct view *view, uint64_t *offset, uint64_t end, bool lose)
{
  const unsigned char *start;
  SCOPED_LOCK (&disk_lock);

  if (!view->bytes || *offset == end)
    return false;
  start = memchr (view->dirty + *offset, 1, end - *offset);
  if (!start)
    return false;
  for (*offset = start - view->dirty; *offset < end && view->dirty[*offset];
       ++*offset) {
    view->dirty[*offset] = 0;
    if (!lose)
      disk[*offset] = view->bytes[*offset];
  }
  return true;
}

static void
write_back (struct view *view, uint64_t offset, uint64_t end)
{
  while (write_back_next (view, &offset, end, false))
    maybe_yield ();
}

/* A cache can write back and refresh at any time. */
static void
maybe_evict (struct view *view)
{
  maybe_yield ();
  if (one_in (16))
    write_back (view, 0, disk_size);
  if (one_in (16)) {
    SCOPED_LOCK (&disk_lock);

    refresh_locked (view, 0, disk_size);
  }
}

static unsigned char *
content (const struct view *view)
{
  return view->bytes ? view->bytes : disk;
}

/* VIEW has changed this range: mark it dirty, or write it to the disk. */
static void
changed_locked (struct view *view, uint64_t offset, uint32_t len)
{
  if (!view->bytes)
    return;
  if (disk_mode.views == VIEWS_BACK)
    memset (view->dirty + offset, 1, len);
  else
    memcpy (disk + offset, view->bytes + offset, len);
}

static void
end_change (struct view *view, uint64_t offset, uint32_t len, uint32_t flags)
{
  maybe_evict (view);
  if (flags & NBDKIT_FLAG_FUA) {
    write_back (view, offset, offset + len);
    refresh (view, offset, offset + len);
  }
}

/* ---- Callbacks ---- */

static int64_t
plugin_get_size (nbdkit_next *next)
{
  (void) next;
  return disk_size;
}

static int
plugin_can (nbdkit_next *next)
{
  (void) next;
  return 1;
}

static int
plugin_can_flush (nbdkit_next *next)
{
  (void) next;
  return disk_mode.flush != FLUSH_NONE;
}

static int
plugin_can_multi_conn (nbdkit_next *next)
{
  (void) next;
  return disk_mode.multi_conn;
}

static int
plugin_block_size (nbdkit_next *next, uint32_t *minimum, uint32_t *preferred,
                   uint32_t *maximum)
{
  (void) next;
  *minimum = *preferred = *maximum = 0;
  return 0;
}

/* Called by requests that modify the disk: assert that the manifest is empty or
 * absent.
 */
static void
check_withdrawn (void)
{
  struct stat st;

  assert (locks_held () == 0);
  assert (!manifest || stat (manifest, &st) == -1 || st.st_size == 0);
}

static int
plugin_pread (nbdkit_next *next, void *buf, uint32_t len, uint64_t offset,
              uint32_t flags, int *err)
{
  struct view *view = (struct view *) next;
  int r, e;

  (void) flags;
  assert (locks_held () == 0);
  if (disk_seed == 0)
    disk_seed = view->seed;
  maybe_evict (view);
  maybe_wait ();
  {
    SCOPED_LOCK (&disk_lock);

    memcpy (buf, content (view) + offset, len);
    r = fails_locked (err) ? -1 : 0;
  }
  if (disk_on_read && (e = disk_on_read ()) != 0) {
    *err = e;
    r = -1;
  }
  maybe_yield ();
  return r;
}

static int
plugin_pwrite (nbdkit_next *next, const void *buf, uint32_t len,
               uint64_t offset, uint32_t flags, int *err)
{
  struct view *view = (struct view *) next;
  bool fails;

  check_withdrawn ();
  maybe_yield ();
  {
    SCOPED_LOCK (&disk_lock);

    fails = fails_locked (err);
    if (fails)
      len /= 2;
    memcpy (content (view) + offset, buf, len);
    changed_locked (view, offset, len);
  }
  end_change (view, offset, len, fails ? 0 : flags);
  if (disk_on_written)
    disk_on_written ();
  return fails ? -1 : 0;
}

static int
fill (nbdkit_next *next, int byte, uint32_t len, uint64_t offset,
      uint32_t flags)
{
  struct view *view = (struct view *) next;

  check_withdrawn ();
  maybe_yield ();
  {
    SCOPED_LOCK (&disk_lock);

    memset (content (view) + offset, byte, len);
    changed_locked (view, offset, len);
  }
  end_change (view, offset, len, flags);
  return 0;
}

/* A fast zero is refused at random, after it has zeroed half of the range. */
static int
plugin_zero (nbdkit_next *next, uint32_t len, uint64_t offset, uint32_t flags,
             int *err)
{
  if ((flags & NBDKIT_FLAG_FAST_ZERO) && one_in (2)) {
    *err = ENOTSUP;
    fill (next, 0, len / 2, offset, 0);
    return -1;
  }
  return fill (next, 0, len, offset, flags);
}

static int
plugin_trim (nbdkit_next *next, uint32_t len, uint64_t offset, uint32_t flags,
             int *err)
{
  (void) err;
  return fill (next, 't', len, offset, flags);
}

static int
plugin_cache (nbdkit_next *next, uint32_t len, uint64_t offset, uint32_t flags,
              int *err)
{
  (void) next, (void) len, (void) offset, (void) flags, (void) err;
  return 0;
}

/* Write each dirty range to the disk, or discard it, at random. */
static void
lose (struct view *view)
{
  uint64_t offset = 0;

  while (write_back_next (view, &offset, disk_size, one_in (2)))
    maybe_yield ();
}

/* If one flush fails, a concurrent one can succeed, as with fsync. */
static int
plugin_flush (nbdkit_next *next, uint32_t flags, int *err)
{
  struct view *view = (struct view *) next;

  (void) flags;
  assert (locks_held () == 0);
  assert (disk_mode.flush != FLUSH_NONE);
  *err = EIO;
  maybe_yield ();
  if (disk_mode.flush == FLUSH_FAILS && one_in (2)) {
    disk_flushes_failed++;
    lose (view);
    maybe_yield ();
    return -1;
  }
  write_back (view, 0, disk_size);
  maybe_yield ();
  refresh (view, 0, disk_size);
  maybe_yield ();
  return 0;
}

/* Add an extent, or extend the last one.  Returns false if there is no room. */
static bool
add_extent (struct nbdkit_extents *extents, uint64_t offset, uint64_t len,
            bool zero)
{
  uint32_t type = zero ? NBDKIT_EXTENT_ZERO : 0;

  if (extents->count > 0 && extents->extent[extents->count - 1].type == type)
    extents->extent[extents->count - 1].length += len;
  else if (extents->count < MAX_EXTENTS)
    extents->extent[extents->count++] = (struct nbdkit_extent) {
      offset, len, type
    };
  else
    return false;
  return true;
}

static int
plugin_extents (nbdkit_next *next, uint32_t len, uint64_t offset,
                uint32_t flags, struct nbdkit_extents *extents, int *err)
{
  struct view *view = (struct view *) next;
  uint64_t end = offset + len, n;

  (void) flags; (void) err;
  assert (locks_held () == 0);
  maybe_evict (view);
  {
    SCOPED_LOCK (&disk_lock);

    for (extents->count = 0; offset < end; offset += n) {
      n = UNIT - offset % UNIT < end - offset ? UNIT - offset % UNIT
                                              : end - offset;
      if (!add_extent (extents, offset, n,
                       is_zero (content (view) + offset, n) ||
                       (disk_lies && disk_lies (offset))))
        break;
    }
  }
  maybe_yield ();
  return 0;
}

/* ---- Connections ---- */

static const nbdkit_next callbacks = {
  .get_size = plugin_get_size,
  .block_size = plugin_block_size,
  .can_flush = plugin_can_flush,
  .can_extents = plugin_can,
  .can_multi_conn = plugin_can_multi_conn,
  .pread = plugin_pread,
  .pwrite = plugin_pwrite,
  .flush = plugin_flush,
  .trim = plugin_trim,
  .cache = plugin_cache,
  .zero = plugin_zero,
  .extents = plugin_extents,
};

nbdkit_next *
plugin_connect (void)
{
  struct view *view = calloc (1, sizeof *view);

  maybe_yield ();
  if (!view)
    abort ();
  view->next = callbacks;
  view->seed = disk_seed;
  if (disk_mode.views != VIEWS_SHARED) {
    view->bytes = malloc (disk_size);
    view->dirty = calloc (1, disk_size);
    if (!view->bytes || !view->dirty)
      abort ();
  }
  {
    SCOPED_LOCK (&disk_lock);

    refresh_locked (view, 0, disk_size);
    view->next_view = views;
    views = view;
  }
  maybe_yield ();
  return &view->next;
}

void
plugin_disconnect (nbdkit_next *next)
{
  struct view *view = (struct view *) next, **link = &views;

  maybe_yield ();
  write_back (view, 0, disk_size);
  {
    SCOPED_LOCK (&disk_lock);

    while (*link != view)
      link = &(*link)->next_view;
    *link = view->next_view;
  }
  free (view->bytes);
  free (view->dirty);
  free (view);
}
