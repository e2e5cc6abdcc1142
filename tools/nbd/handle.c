/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include "../lib/common/libnbd.h"
#include "nbd/handle.h"
#include "util/error.h"

struct nbd_handle *
nbd_handle_create (bool extents, struct error *error)
{
  struct nbd_handle *nbd;
  char reason[500];

  if (libnbd_load (reason, sizeof reason) == -1) {
    error_set (error, "%s", reason);
    return NULL;
  }
  nbd = nbd_create ();
  if (!nbd) {
    error_set (error, "%s", nbd_error_text ());
    return NULL;
  }
  /* The URI was given by the user, and may name a key file or a socket. */
  if (nbd_set_uri_allow_local_file (nbd, true) == -1 ||
      (extents &&
       nbd_add_meta_context (nbd, LIBNBD_CONTEXT_BASE_ALLOCATION) == -1)) {
    error_set (error, "%s", nbd_error_text ());
    nbd_close (nbd);
    return NULL;
  }
  return nbd;
}

int64_t
nbd_handle_size (struct nbd_handle *nbd, struct error *error)
{
  int64_t size = nbd_get_size (nbd);

  if (size >= 0)
    return size;
  /* libnbd returns 2^63 or more as a negative number, and sets no error. */
  return nbd_get_error ()
    ? error_set (error, "cannot get the size of the export: %s",
                 nbd_error_text ())
    : error_set (error, "the server reports a size of 2^63 bytes or more");
}

/* Close the handle without waiting for the server. */
void
nbd_handle_close (struct nbd_handle *nbd)
{
  if (!nbd)
    return;
  nbd_aio_disconnect (nbd, 0);
  nbd_close (nbd);
}
