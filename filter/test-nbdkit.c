/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: what the filter calls of nbdkit, and what nbdkit calls of it.
 *
 * Neither the plugin nor the log may be waited for with a lock of the filter:
 * that is asserted wherever they are called.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "../lib/cleanup.h"
#include "../lib/zero.h"
#include "test-locks.h"
#include "test-nbdkit.h"

#define UNIT 512                /* bytes of the smallest extent */
#define MAX_EXTENTS 64

struct nbdkit_filter *filter_init (void);

struct client {
  void *handle;                 /* of the filter */
};

struct nbdkit_extents {
  size_t count;
  struct nbdkit_extent extent[MAX_EXTENTS];
};

unsigned char *disk;
unsigned disk_failures;
static uint64_t disk_size;
static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned calls;          /* of the plugin; under disk_lock */
static struct nbdkit_filter *filter;
static const char *manifest;    /* path */

/* ---- nbdkit ---- */

static atomic_uint errors;

void
nbdkit_error (const char *message, ...)
{
  (void) message;
  assert (locks_held () == 0);
  errors++;
}

unsigned
errors_told (void)
{
  return errors;
}

void
nbdkit_debug (const char *message, ...)
{
  (void) message;
  assert (locks_held () == 0);
}

char *
nbdkit_absolute_path (const char *path)
{
  return strdup (path);
}

char *
nbdkit_realpath (const char *path)
{
  return realpath (path, NULL);
}

/* Freed by server_stop. */
static char *interned[2];
static unsigned nr_interned;

const char *
nbdkit_strdup_intern (const char *string)
{
  assert (nr_interned < 2);
  return interned[nr_interned++] = strdup (string);
}

int
nbdkit_parse_bool (const char *string)
{
  return strcmp (string, "true") == 0;
}

int64_t
nbdkit_parse_size (const char *string)
{
  return strtoll (string, NULL, 10);
}

int
nbdkit_parse_unsigned (const char *what, const char *string, unsigned *n)
{
  (void) what;
  *n = strtoul (string, NULL, 10);
  return 0;
}

struct nbdkit_extents *
nbdkit_extents_new (uint64_t start, uint64_t end)
{
  (void) start; (void) end;
  return calloc (1, sizeof (struct nbdkit_extents));
}

void
nbdkit_extents_free (struct nbdkit_extents *extents)
{
  free (extents);
}

size_t
nbdkit_extents_count (const struct nbdkit_extents *extents)
{
  return extents->count;
}

struct nbdkit_extent
nbdkit_get_extent (const struct nbdkit_extents *extents, size_t i)
{
  return extents->extent[i];
}

/* ---- The plugin ---- */

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

static nbdkit_next plugin = {
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

static int
plugin_open (nbdkit_context *context, int readonly, const char *name)
{
  (void) context; (void) readonly; (void) name;
  return 0;
}

static int
plugin_config (nbdkit_backend *backend, const char *key, const char *value)
{
  (void) backend; (void) key; (void) value;
  abort ();
}

static int
plugin_config_complete (nbdkit_backend *backend)
{
  (void) backend;
  return 0;
}

/* ---- The server ---- */

static void
configure (const char *key, const char *value)
{
  if (filter->config (plugin_config, NULL, key, value) != 0)
    abort ();
}

void
server_start (uint64_t size, const char *path, const char *manifest_path,
              const char *block_size)
{
  disk_size = size;
  manifest = manifest_path;
  disk = calloc (1, size);
  filter = filter_init ();
  filter->load ();
  configure ("blkhash-file", path);
  configure ("blkhash-manifest", manifest);
  configure ("blkhash-block-size", block_size);
  if (!disk || filter->config_complete (plugin_config_complete, NULL) != 0 ||
      filter->get_ready (NBDKIT_THREAD_MODEL_PARALLEL) != 0 ||
      filter->after_fork (NULL) != 0)
    abort ();
}

void
server_stop (void)
{
  filter->cleanup (NULL);
  filter->unload ();
  while (nr_interned > 0)
    free (interned[--nr_interned]);
  free (disk);
}

/* ---- Clients ---- */

struct client *
client_open (const char *name)
{
  struct client *client = malloc (sizeof *client);

  if (!client)
    abort ();
  client->handle = filter->open (plugin_open, NULL, 0, name, 0);
  if (!client->handle || filter->prepare (&plugin, client->handle, 0) != 0)
    abort ();
  return client;
}

void
client_leave (struct client *client)
{
  filter->finalize (&plugin, client->handle);
  client_vanish (client);
}

void
client_vanish (struct client *client)
{
  filter->close (client->handle);
  free (client);
}

int
client_read (struct client *client, uint32_t len, uint64_t offset)
{
  void *buf = malloc (len);
  int err, r = filter->pread (&plugin, client->handle, buf, len, offset, 0,
                              &err);

  free (buf);
  return r;
}

int
client_write (struct client *client, int byte, uint32_t len, uint64_t offset)
{
  void *buf = malloc (len);
  int err, r;

  memset (buf, byte, len);
  r = filter->pwrite (&plugin, client->handle, buf, len, offset, 0, &err);
  free (buf);
  return r;
}

int
client_zero (struct client *client, uint32_t len, uint64_t offset)
{
  int err;

  return filter->zero (&plugin, client->handle, len, offset, 0, &err);
}

int
client_trim (struct client *client, uint32_t len, uint64_t offset)
{
  int err;

  return filter->trim (&plugin, client->handle, len, offset, 0, &err);
}

int
client_extents (struct client *client, uint32_t len, uint64_t offset)
{
  struct nbdkit_extents *extents = nbdkit_extents_new (offset, disk_size);
  int err, r = filter->extents (&plugin, client->handle, len, offset, 0,
                                extents, &err);

  nbdkit_extents_free (extents);
  return r;
}

int
client_flush (struct client *client)
{
  int err;

  return filter->flush (&plugin, client->handle, 0, &err);
}
