/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An NBD export in which blocks are replaced.
 *
 * It has no locks: other clients can write the export meanwhile.
 */

#ifndef BLKSUM_NBD_WRITE_H
#define BLKSUM_NBD_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct nbd_handle;

/* Check that the server of NBD can write and flush, unless READ_ONLY, and set
 * *ALIGN to the bytes of which all requests must be multiples.  0, or -1 with the
 * reason.
 */
int nbd_write_check (struct nbd_handle *nbd, bool read_only, uint32_t *align,
                     struct error *error);

/* Read or write LEN bytes at OFFSET, both multiples of the alignment.  0, or -1
 * with the reason.
 */
int nbd_write_read (struct nbd_handle *nbd, void *buf, size_t len,
                    uint64_t offset, struct error *error);
int nbd_write_write (struct nbd_handle *nbd, const void *buf, size_t len,
                     uint64_t offset, struct error *error);

/* Wait until what was written is on the storage of the server.  0, or -1 with
 * the reason.
 */
int nbd_write_flush (struct nbd_handle *nbd, struct error *error);

#endif /* BLKSUM_NBD_WRITE_H */
