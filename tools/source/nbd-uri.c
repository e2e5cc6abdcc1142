/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An NBD export that the user names by its URI.
 *
 * If the server supports several connections with a consistent view of the disk
 * (multi-conn), a few are opened.  A server with a thread for each connection
 * is then read in parallel.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "../lib/common/clock.h"
#include "nbd/libnbd.h"
#include "nbd/nbd.h"
#include "source/source-private.h"
#include "source/source.h"
#include "util/error.h"
#include "util/source-options.h"

#define CONNS 4
#define CONNECT_TIMEOUT 1000    /* ms for another connection */

struct nbd_uri {
  struct source source;
  const struct source_options *options;
  struct nbd_handle *conns[CONNS];
  unsigned nr_conns;            /* number of open connections in CONNS */
  struct nbd_server server;
};

/* Open another connection.  Returns NULL on failure.  A server can advertise
 * multi-conn and still accept no more connections, so the wait has a timeout.
 */
static struct nbd_handle *
connect_another (const struct source_options *options, const char *uri,
                 int64_t size)
{
  struct error ignored = { "" };
  struct nbd_handle *nbd = nbd_handle_create (options->extents, &ignored);
  int64_t left, until = clock_ms () + CONNECT_TIMEOUT;

  if (!nbd)
    return NULL;
  if (nbd_aio_connect_uri (nbd, uri) == 0) {
    while (nbd_aio_is_connecting (nbd) == 1 && (left = until - clock_ms ()) > 0)
      if (nbd_poll (nbd, left) == -1)
        break;
    if (nbd_aio_is_ready (nbd) == 1 && nbd_get_size (nbd) == size)
      return nbd;
  }
  nbd_close (nbd);
  return NULL;
}

static int
connect_nbd (const struct source_options *options, struct nbd_handle *nbd,
             const char *uri, struct error *error)
{
  if (options->bitmap)
    return nbd_bitmap_connect (nbd, uri, options->bitmap, options->extents,
                               error);
  if (nbd_connect_uri (nbd, uri) == -1)
    return error_set (error, "cannot connect: %s", nbd_error_text ());
  return 0;
}

/* Open the first connection.  Returns 0 or -1. */
static int
connect_first (struct nbd_uri *nbd_uri, const char *uri, struct error *error)
{
  const struct source_options *options = nbd_uri->options;
  struct nbd_handle *nbd = nbd_handle_create (options->extents &&
                                              !options->bitmap, error);
  int64_t size;
  int r = -1;

  if (!nbd)
    return -1;
  if (connect_nbd (options, nbd, uri, error) == 0 &&
      (size = nbd_handle_size (nbd, error)) != -1) {
    nbd_uri->source.size = size;
    nbd_uri->conns[nbd_uri->nr_conns++] = nbd;
    r = 0;
  }
  if (r == -1)
    nbd_close (nbd);
  return r;
}

static void
connect_others (struct nbd_uri *nbd_uri, const char *uri)
{
  const struct source_options *options = nbd_uri->options;
  struct nbd_handle *first = nbd_uri->conns[0], *nbd;
  int64_t size = nbd_get_size (first);

  if (nbd_can_multi_conn (first) != 1 ||
      nbd_uri->source.size <= options->read_size)
    return;
  while (nbd_uri->nr_conns < CONNS && nbd_uri->nr_conns < options->threads &&
         (nbd = connect_another (options, uri, size)))
    nbd_uri->conns[nbd_uri->nr_conns++] = nbd;
}

static int
nbd_uri_scan (struct source *source, struct scan *scan)
{
  struct nbd_uri *nbd_uri = (struct nbd_uri *) source;

  return nbd_export_scan (nbd_uri->options, nbd_uri->conns,
                          &nbd_uri->nr_conns, &nbd_uri->server, source->size,
                          scan);
}

static int
nbd_uri_read_bitmap (struct source *source, struct ranges *ranges,
                     struct error *error)
{
  struct nbd_uri *nbd_uri = (struct nbd_uri *) source;

  return nbd_bitmap_read (nbd_uri->conns[0], nbd_uri->options->bitmap,
                          source->size, ranges, error);
}

static void
nbd_uri_close (struct source *source)
{
  struct nbd_uri *nbd_uri = (struct nbd_uri *) source;

  for (unsigned i = 0; i < nbd_uri->nr_conns; i++)
    nbd_handle_close (nbd_uri->conns[i]);
  free (nbd_uri);
}

static const struct source_ops nbd_uri_ops = {
  .scan = nbd_uri_scan,
  .read_bitmap = nbd_uri_read_bitmap,
  .close = nbd_uri_close,
};

int
nbd_uri_open (const struct source_options *options, const char *uri,
              struct source **source, struct error *error)
{
  struct nbd_uri *nbd_uri = malloc (sizeof *nbd_uri);

  if (!nbd_uri)
    return error_errno (error, errno, "cannot read");
  *nbd_uri = (struct nbd_uri) {
    .source = {
      .ops = &nbd_uri_ops, .format = "nbd",
      .first.needed = !options->format,
    },
    .options = options,
    .server = { .name = uri, .warn = options->bitmap ? NULL : options->warn },
  };
  if (connect_first (nbd_uri, uri, error) == -1) {
    free (nbd_uri);
    return -1;
  }
  connect_others (nbd_uri, uri);
  *source = &nbd_uri->source;
  return 0;
}
