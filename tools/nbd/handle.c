/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The handles of libnbd, and its errors.
 */

#include <config.h>

#include <ctype.h>
#include <string.h>

#include "nbd/handle.h"
#include "nbd/load.h"
#include "util/error.h"

struct nbd_handle *
nbd_handle_create (bool extents, struct error *error)
{
  struct nbd_handle *nbd;

  if (libnbd_load (error) == -1)
    return NULL;
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

const char *
nbd_error_text (void)
{
  const char *text = nbd_get_error ();
  const char *p = text;

  if (!text)
    return "the server closed the connection";
  while (islower ((unsigned char) *p) || isdigit ((unsigned char) *p) ||
         *p == '_')
    p++;
  return strncmp (text, "nbd_", 4) == 0 && strncmp (p, ": ", 2) == 0
    ? p + 2 : text;
}
