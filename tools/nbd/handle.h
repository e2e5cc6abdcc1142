/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The handles of libnbd, and its errors.
 */

#ifndef BLKSUM_NBD_HANDLE_H
#define BLKSUM_NBD_HANDLE_H

#include <stdbool.h>

struct error;
struct nbd_handle;

/* A handle that asks for extents, if EXTENTS, when it connects.  Nothing of
 * libnbd may be called before: this loads it.
 */
struct nbd_handle *nbd_handle_create (bool extents, struct error *error);

/* Say good-bye to the server, if it is still there, and close; NULL is allowed.
 * What is in flight is aborted.
 */
void nbd_handle_close (struct nbd_handle *nbd);

/* libnbd's last error in this thread, without the name of its function. */
const char *nbd_error_text (void);

#endif /* BLKSUM_NBD_HANDLE_H */
