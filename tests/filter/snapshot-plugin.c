/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A plugin of nbdkit for tests of the filter: a disk in a file, whose
 * connections can have their own views, and whose calls can be held.
 *
 *   file=PATH      the disk
 *   views=shared   all connections see the disk (the default)
 *   views=own      a connection sees the disk as it was in .open, and its own
 *                  changes, which are written to the disk at once; the changes
 *                  of others are seen as "flush" says
 *   views=back     the same, but its changes are written to the disk by a flush
 *                  or when it is closed
 *   flush=fresh    a flush updates the view (the default)
 *   flush=old      a flush does not update the view
 *   flush=none     the same, and there is no flush
 *   flush=refused  the same, and a flush fails and does nothing
 *   flush=eio      the same, and a flush fails and loses unwritten changes
 *   flush=eio-once the first flush is as "eio", the others as "fresh"
 *   multi-conn=BOOL  is advertised; default: true if views are shared
 *   extents=false  there are no extents
 *   fast-zero=false  a fast zero is refused
 *   fast-zero=half   a fast zero zeroes one half and is refused, as if a filter
 *                  above had retried it
 *   default-export=NAME  the name of the export ""
 *   model=MODEL    the thread model
 *   hold=DIR       hold calls, see hold.h: a callback's name at its begin, or
 *                  "CALLBACK-done" when its work is done, before it returns;
 *                  "flush-lost" if that has failed
 *
 * Trimmed data is neither the old data nor zero.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "hold.h"
#include "snapshot-view.h"

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL
#define UNIT 4096               /* bytes of the smallest extent */

static const char *file, *default_export;
static bool extents = true;
static int multi_conn = -1;     /* not given */
static enum view_kind views;
static enum {
  FLUSH_FRESH, FLUSH_OLD, FLUSH_NONE, FLUSH_REFUSED, FLUSH_EIO,
  FLUSH_EIO_ONCE
} flush;
static enum {
  FAST_ZERO_TRUE, FAST_ZERO_FALSE, FAST_ZERO_HALF
} fast_zero;
static int model = THREAD_MODEL;
static int64_t size;
static int disk = -1;

/* ---- The server ---- */

static int
is_bool (const char *value, bool *result)
{
  int r = nbdkit_parse_bool (value);

  *result = r;
  return r == -1 ? -1 : 0;
}

static int
find (const char *value, const char *const *values)
{
  int i;

  for (i = 0; values[i]; i++)
    if (strcmp (value, values[i]) == 0)
      return i;
  nbdkit_error ("unknown value: %s", value);
  return -1;
}

static int
snapshot_config (const char *key, const char *value)
{
  static const char *const flushes[] = {
    "fresh", "old", "none", "refused", "eio", "eio-once", NULL
  };
  static const char *const fast_zeros[] = {
    "true", "false", "half", NULL
  };
  static const char *const kinds[] = { "shared", "own", "back", NULL };
  static const char *const models[] = {
    "serialize_connections", "serialize_all_requests", "serialize_requests",
    "parallel", NULL
  };
  int r = 0;

  if (strcmp (key, "file") == 0)
    file = value;
  else if (strcmp (key, "hold") == 0)
    hold_dir = value;
  else if (strcmp (key, "default-export") == 0)
    default_export = value;
  else if (strcmp (key, "extents") == 0)
    return is_bool (value, &extents);
  else if (strcmp (key, "fast-zero") == 0)
    fast_zero = r = find (value, fast_zeros);
  else if (strcmp (key, "multi-conn") == 0)
    multi_conn = r = nbdkit_parse_bool (value);
  else if (strcmp (key, "views") == 0)
    views = r = find (value, kinds);
  else if (strcmp (key, "flush") == 0)
    flush = r = find (value, flushes);
  else if (strcmp (key, "model") == 0)
    model = r = find (value, models);
  else {
    nbdkit_error ("unknown parameter: %s", key);
    return -1;
  }
  return r == -1 ? -1 : 0;
}

static int
snapshot_get_ready (void)
{
  struct stat st;

  disk = file ? open (file, O_RDWR | O_CLOEXEC) : -1;
  if (disk == -1 || fstat (disk, &st) == -1) {
    nbdkit_error ("file: %s: %m", file ? file : "not given");
    return -1;
  }
  size = st.st_size;
  return 0;
}

static void
snapshot_cleanup (void)
{
  hold ("cleanup");
}

static int
snapshot_thread_model (void)
{
  return model;
}

static const char *
snapshot_default_export (int readonly, int is_tls)
{
  (void) readonly;
  (void) is_tls;
  return default_export ? default_export : "";
}

/* ---- Connections ---- */

static void
snapshot_close (void *handle)
{
  hold ("close");
  view_write_back (handle);
  nbdkit_debug ("snapshot: closed");
  view_close (handle);
}

static void *
snapshot_open (int readonly)
{
  struct view *view = view_open (views, disk, size);

  (void) readonly;
  hold ("open");
  return view;
}

static int64_t
snapshot_get_size (void *handle)
{
  (void) handle;
  hold ("get_size");
  return size;
}

static int
snapshot_can_multi_conn (void *handle)
{
  (void) handle;
  hold ("can_multi_conn");
  return multi_conn == -1 ? views == VIEW_SHARED : multi_conn;
}

static int
snapshot_can_flush (void *handle)
{
  (void) handle;
  return flush != FLUSH_NONE;
}

static int
snapshot_can_extents (void *handle)
{
  (void) handle;
  hold ("can_extents");
  return extents;
}

static int
snapshot_can_fast_zero (void *handle)
{
  (void) handle;
  hold ("can_fast_zero");
  return 1;
}

static int
snapshot_block_size (void *handle, uint32_t *minimum, uint32_t *preferred,
                     uint32_t *maximum)
{
  (void) handle;
  hold ("block_size");
  *minimum = 1;
  *preferred = UNIT;
  *maximum = UINT32_MAX;
  return 0;
}

/* ---- Requests ---- */

static int
fill (struct view *view, char byte, uint32_t count, uint64_t offset)
{
  char buf[UNIT];

  memset (buf, byte, sizeof buf);
  while (count > 0) {
    uint32_t n = count < sizeof buf ? count : sizeof buf;

    if (view_write (view, buf, n, offset) == -1)
      return -1;
    count -= n;
    offset += n;
  }
  return 0;
}

static int
snapshot_pread (void *handle, void *buf, uint32_t count, uint64_t offset,
                uint32_t flags)
{
  int r;

  (void) flags;
  hold ("pread");
  r = view_read (handle, buf, count, offset);
  hold ("pread-done");
  hold_after ("pread");
  return r;
}

static int
snapshot_pwrite (void *handle, const void *buf, uint32_t count,
                 uint64_t offset, uint32_t flags)
{
  int r;

  (void) flags;
  hold ("pwrite");
  r = view_write (handle, buf, count, offset);
  hold ("pwrite-done");
  return r;
}

static int
fail (int error)
{
  nbdkit_set_error (error);
  return -1;
}

static int
snapshot_zero (void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
  int r;

  if (flags & NBDKIT_FLAG_FAST_ZERO) {
    if (fast_zero == FAST_ZERO_HALF)
      fill (handle, 0, count / 2, offset);
    if (fast_zero != FAST_ZERO_TRUE)
      return fail (EOPNOTSUPP);
  }
  hold ("zero");
  r = fill (handle, 0, count, offset);
  hold ("zero-done");
  return r;
}

static int
snapshot_trim (void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
  int r;

  (void) flags;
  hold ("trim");
  r = fill (handle, 't', count, offset);
  hold ("trim-done");
  return r;
}

static int
snapshot_flush (void *handle, uint32_t flags)
{
  (void) flags;
  hold ("flush");
  if (flush == FLUSH_REFUSED)
    return fail (EOPNOTSUPP);
  if (flush == FLUSH_EIO || flush == FLUSH_EIO_ONCE) {
    if (flush == FLUSH_EIO_ONCE)
      flush = FLUSH_FRESH;
    view_lose (handle);
    hold ("flush-lost");
    return fail (EIO);
  }
  if (view_write_back (handle) == -1)
    return -1;
  hold ("flush-done");
  return flush == FLUSH_FRESH ? view_refresh (handle) : 0;
}

static int
snapshot_extents (void *handle, uint32_t count, uint64_t offset,
                  uint32_t flags, struct nbdkit_extents *list)
{
  static const char zeros[UNIT];
  uint64_t end = offset + count, n;
  char buf[UNIT];

  (void) flags;
  hold ("extents");
  for (; offset < end; offset += n) {
    uint32_t type = 0;

    n = UNIT - offset % UNIT;
    if (n > end - offset)
      n = end - offset;
    if (view_read (handle, buf, n, offset) == -1)
      return -1;
    if (memcmp (buf, zeros, n) == 0)
      type = NBDKIT_EXTENT_ZERO | NBDKIT_EXTENT_HOLE;
    if (nbdkit_add_extent (list, offset, n, type) == -1)
      return -1;
  }
  hold ("extents-done");
  hold_after ("extents");
  return 0;
}

static struct nbdkit_plugin plugin = {
  .name = "snapshot",
  .description = "for tests: connections with their own view",
  .config = snapshot_config,
  .get_ready = snapshot_get_ready,
  .cleanup = snapshot_cleanup,
  .thread_model = snapshot_thread_model,
  .default_export = snapshot_default_export,
  .open = snapshot_open,
  .close = snapshot_close,
  .get_size = snapshot_get_size,
  .can_multi_conn = snapshot_can_multi_conn,
  .can_flush = snapshot_can_flush,
  .can_extents = snapshot_can_extents,
  .can_fast_zero = snapshot_can_fast_zero,
  .block_size = snapshot_block_size,
  .pread = snapshot_pread,
  .pwrite = snapshot_pwrite,
  .zero = snapshot_zero,
  .trim = snapshot_trim,
  .flush = snapshot_flush,
  .extents = snapshot_extents,
  .errno_is_preserved = 1,
};

NBDKIT_REGISTER_PLUGIN (plugin)
