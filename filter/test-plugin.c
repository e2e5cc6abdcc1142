/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: a plugin whose disk is memory.
 *
 * It may not be waited for with a lock of the filter: that is asserted wherever
 * it is called.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/zero.h"
#include "test-locks.h"
#include "test-nbdkit.h"
#include "test-plugin.h"

#define UNIT 512                /* bytes of the smallest extent */

unsigned char *disk;
unsigned disk_failures;
static uint64_t disk_size;
static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned calls;          /* of the plugin; under disk_lock */
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
plugin_stop (void)
{
  free (disk);
}

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
plugin_block_size (nbdkit_next *next, uint32_t *minimum, uint32_t *preferred,
                   uint32_t *maximum)
{
  (void) next;
  *minimum = *preferred = *maximum = 0;
  return 0;
}

/* Does this call fail? */
static bool
fails_locked (int *err)
{
  *err = EIO;
  return disk_failures > 0 && ++calls % disk_failures == 0;
}

/* A change comes, or has been made, and is not over. */
static void
check_withdrawn (void)
{
  struct stat st;

  assert (locks_held () == 0);
  assert (stat (manifest, &st) == -1 || st.st_size == 0);
}

static int
plugin_pread (nbdkit_next *next, void *buf, uint32_t len, uint64_t offset,
              uint32_t flags, int *err)
{
  (void) next; (void) flags;
  assert (locks_held () == 0);
  SCOPED_LOCK (&disk_lock);

  memcpy (buf, disk + offset, len);
  return fails_locked (err) ? -1 : 0;
}

static int
plugin_pwrite (nbdkit_next *next, const void *buf, uint32_t len,
               uint64_t offset, uint32_t flags, int *err)
{
  (void) next; (void) flags;
  check_withdrawn ();
  SCOPED_LOCK (&disk_lock);

  if (fails_locked (err))
    len /= 2;
  memcpy (disk + offset, buf, len);
  return disk_failures > 0 && calls % disk_failures == 0 ? -1 : 0;
}

static int
plugin_zero (nbdkit_next *next, uint32_t len, uint64_t offset, uint32_t flags,
             int *err)
{
  (void) next; (void) flags; (void) err;
  check_withdrawn ();
  SCOPED_LOCK (&disk_lock);

  memset (disk + offset, 0, len);
  return 0;
}

static int
plugin_trim (nbdkit_next *next, uint32_t len, uint64_t offset, uint32_t flags,
             int *err)
{
  (void) next; (void) flags; (void) err;
  check_withdrawn ();
  SCOPED_LOCK (&disk_lock);

  memset (disk + offset, 't', len);
  return 0;
}

static int
plugin_flush (nbdkit_next *next, uint32_t flags, int *err)
{
  (void) next; (void) flags; (void) err;
  assert (locks_held () == 0);
  return 0;
}

static int
plugin_extents (nbdkit_next *next, uint32_t len, uint64_t offset,
                uint32_t flags, struct nbdkit_extents *extents, int *err)
{
  uint64_t end = offset + len, n;

  (void) next; (void) flags; (void) err;
  assert (locks_held () == 0);
  SCOPED_LOCK (&disk_lock);

  for (extents->count = 0; offset < end && extents->count < MAX_EXTENTS;
       offset += n) {
    n = end - offset < UNIT ? end - offset : UNIT;
    extents->extent[extents->count++] = (struct nbdkit_extent) {
      offset, n, is_zero (disk + offset, n) ? NBDKIT_EXTENT_ZERO : 0
    };
  }
  return 0;
}

nbdkit_next plugin = {
  .get_size = plugin_get_size,
  .block_size = plugin_block_size,
  .can_flush = plugin_can,
  .can_extents = plugin_can,
  .can_multi_conn = plugin_can,
  .pread = plugin_pread,
  .pwrite = plugin_pwrite,
  .flush = plugin_flush,
  .trim = plugin_trim,
  .zero = plugin_zero,
  .extents = plugin_extents,
};
