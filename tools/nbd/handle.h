/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The handles of libnbd.
 */

#ifndef BLKSUM_NBD_HANDLE_H
#define BLKSUM_NBD_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct nbd_handle;

/* Create a handle.  If EXTENTS is set, it negotiates block status when it
 * connects.  This loads libnbd: call no function of libnbd before.
 * Returns NULL with the reason in ERROR on failure.
 */
struct nbd_handle *nbd_handle_create (bool extents, struct error *error);

/* Returns the size of the export in bytes, or -1 with the reason in ERROR. */
int64_t nbd_handle_size (struct nbd_handle *nbd, struct error *error);

/* Disconnect from the server, if it is connected, and close the handle; NULL is
 * allowed.  Requests in flight are aborted.
 */
void nbd_handle_close (struct nbd_handle *nbd);

#endif /* BLKSUM_NBD_HANDLE_H */
