/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An NBD export, by its URI.
 *
 * When the server allows several connections, which have a view of one disk,
 * a few are opened: a server that serves each in a thread of its own is then
 * read in parallel.
 */

#include <config.h>

#include <errno.h>
#include <string.h>
#include <time.h>

#include "blkhash.h"

#include "cli/options.h"
#include "cli/output.h"
#include "nbd/extents.h"
#include "nbd/load.h"
#include "nbd/read.h"
#include "source/source.h"
#include "util/error.h"

#define CONNS 4
#define PATIENCE 1000           /* ms to wait for another connection */

static int64_t
now_ms (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * INT64_C (1000) + ts.tv_nsec / 1000000;
}

/* Another connection, or NULL.  A server can have said that it allows many,
 * and take no more: then it would keep us waiting for ever.
 */
static struct nbd_handle *
connect_another (const struct options *options, const char *uri,
                 int64_t size)
{
  struct error ignored = { "" };
  struct nbd_handle *nbd = nbd_handle_create (options->extents, &ignored);
  int64_t left, until = now_ms () + PATIENCE;

  if (!nbd)
    return NULL;
  if (nbd_aio_connect_uri (nbd, uri) == 0) {
    while (nbd_aio_is_connecting (nbd) == 1 && (left = until - now_ms ()) > 0)
      if (nbd_poll (nbd, left) == -1)
        break;
    if (nbd_aio_is_ready (nbd) == 1 && nbd_get_size (nbd) == size)
      return nbd;
  }
  nbd_close (nbd);
  return NULL;
}

int
source_uri_hash (const struct options *options, const char *uri,
                 struct sum *sum, struct error *error)
{
  struct nbd_handle *conns[CONNS];
  unsigned nr_conns = 1, wanted = 1;
  int64_t size;

  strcpy (sum->format, "nbd");
  conns[0] = nbd_handle_create (options->extents, error);
  if (!conns[0])
    return -1;
  if (nbd_connect_uri (conns[0], uri) == -1) {
    error_set (error, "cannot connect: %s", nbd_error_text ());
    nbd_close (conns[0]);
    return -1;
  }
  size = nbd_get_size (conns[0]);
  if (size < 0) {
    error_set (error, "the server tells a size of 2^63 bytes or more");
    nbd_close (conns[0]);
    return -1;
  }

  if (nbd_can_multi_conn (conns[0]) == 1 && size > options->read_size) {
    wanted = blkhash_opts_get_threads (options->hash);
    if (wanted > CONNS)
      wanted = CONNS;
  }
  for (; nr_conns < wanted; nr_conns++) {
    conns[nr_conns] = connect_another (options, uri, size);
    if (!conns[nr_conns])
      break;
  }
  return nbd_read_and_hash (options, conns, nr_conns, size, sum, error);
}
