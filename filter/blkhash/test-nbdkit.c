/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: the functions of nbdkit that the filter calls, and calls of
 * the filter as nbdkit makes them.
 *
 * nbdkit_error and nbdkit_debug assert that the caller holds no lock.
 */

#include <config.h>

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "blkhash/test-locks.h"
#include "blkhash/test-nbdkit.h"
#include "blkhash/test-plugin.h"

struct nbdkit_filter *filter_init (void);

/* Passed to the filter's .open, which passes it to plugin_open. */
struct nbdkit_context {
  nbdkit_next *next;            /* of the plugin */
};

struct client {
  struct nbdkit_context context;
  void *handle;                 /* of the filter */
};

static struct nbdkit_filter *filter;

/* Opaque to the filter, which passes it to plugin_config etc. */
static struct nbdkit_backend { int nothing; } backend;

/* ---- nbdkit ---- */

static atomic_uint errors;
_Thread_local char last_error[512];

void
nbdkit_error (const char *message, ...)
{
  va_list args;

  assert (locks_held () == 0);
  va_start (args, message);
  vsnprintf (last_error, sizeof last_error, message, args);
  va_end (args);
  errors++;
}

unsigned
errors_reported (void)
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

/* ---- The server ---- */

static int
plugin_open (nbdkit_context *nxdata, int readonly, const char *name)
{
  (void) readonly; (void) name;
  nxdata->next = plugin_connect ();
  return 0;
}

static int
plugin_config (nbdkit_backend *nxdata, const char *key, const char *value)
{
  (void) nxdata; (void) key; (void) value;
  abort ();
}

static int
plugin_config_complete (nbdkit_backend *nxdata)
{
  (void) nxdata;
  return 0;
}

void
server_configure (const char *key, const char *value)
{
  filter = filter_init ();
  if (filter->config (plugin_config, &backend, key, value) != 0)
    abort ();
}

void (*server_on_start) (void);

void
server_start (uint64_t size, const char *path, const char *manifest,
              const char *block_size)
{
  plugin_start (size, manifest);
  if (server_on_start)
    server_on_start ();
  server_configure ("blkhash-file", path);
  if (manifest)
    server_configure ("blkhash-manifest", manifest);
  server_configure ("blkhash-block-size", block_size);
  filter->load ();
  if (filter->config_complete (plugin_config_complete, &backend) != 0 ||
      filter->get_ready (NBDKIT_THREAD_MODEL_PARALLEL) != 0 ||
      filter->after_fork (&backend) != 0)
    abort ();
}

static bool has_ended;

void
server_end (void)
{
  has_ended = true;
  filter->cleanup (&backend);
}

void
server_stop (void)
{
  if (!has_ended)
    server_end ();
  filter->unload ();
  while (nr_interned > 0)
    free (interned[--nr_interned]);
  plugin_stop ();
}

/* ---- Clients ---- */

static struct client *
open_client (const char *name, int tls)
{
  struct client *client = malloc (sizeof *client);

  if (!client)
    abort ();
  client->handle = filter->open (plugin_open, &client->context, 0, name,
                                 tls);
  if (!client->handle ||
      filter->prepare (client->context.next, client->handle, 0) != 0)
    abort ();
  return client;
}

struct client *
client_open (const char *name)
{
  return open_client (name, false);
}

struct client *
client_open_tls (const char *name)
{
  return open_client (name, true);
}

void
client_disconnect (struct client *client)
{
  filter->finalize (client->context.next, client->handle);
  client_vanish (client);
}

void
client_vanish (struct client *client)
{
  filter->close (client->handle);
  plugin_disconnect (client->context.next);
  free (client);
}

int
client_read (struct client *client, uint32_t len, uint64_t offset)
{
  void *buf = malloc (len);
  int err, r = filter->pread (client->context.next, client->handle, buf, len,
                              offset, 0, &err);

  free (buf);
  return r;
}

int
client_write (struct client *client, int byte, uint32_t len, uint64_t offset,
              uint32_t flags)
{
  void *buf = malloc (len);
  int err, r;

  memset (buf, byte, len);
  r = filter->pwrite (client->context.next, client->handle, buf, len, offset,
                      flags, &err);
  free (buf);
  return r;
}

int
client_zero (struct client *client, uint32_t len, uint64_t offset,
             uint32_t flags)
{
  int err;

  return filter->zero (client->context.next, client->handle, len, offset, flags,
                       &err);
}

int
client_trim (struct client *client, uint32_t len, uint64_t offset,
             uint32_t flags)
{
  int err;

  return filter->trim (client->context.next, client->handle, len, offset, flags,
                       &err);
}

int
client_cache (struct client *client, uint32_t len, uint64_t offset)
{
  int err;

  return filter->cache (client->context.next, client->handle, len, offset, 0,
                        &err);
}

int
client_extents (struct client *client, uint32_t len, uint64_t offset)
{
  struct nbdkit_extents *extents = nbdkit_extents_new (offset, 0);
  int err, r = filter->extents (client->context.next, client->handle, len,
                                offset, 0, extents, &err);

  nbdkit_extents_free (extents);
  return r;
}

int
client_flush (struct client *client)
{
  int err;

  return filter->flush (client->context.next, client->handle, 0, &err);
}
