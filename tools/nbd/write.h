/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Replace blocks of an NBD export.
 *
 * The export is not locked: other clients can write to it at the same time.
 */

#ifndef BLKSUM_NBD_WRITE_H
#define BLKSUM_NBD_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct nbd_handle;

/* Unless READ_ONLY is set, check that the server supports writes and flushes on
 * the export of NBD.  Set *ALIGN to the alignment in bytes that the server
 * requires for requests.  Returns 0, or -1 with the reason in ERROR.
 */
int nbd_write_check (struct nbd_handle *nbd, bool read_only, uint32_t *align,
                     struct error *error);

/* Read or write LEN bytes at OFFSET.  LEN and OFFSET must be multiples of the
 * alignment that nbd_write_check returned.  Return 0, or -1 with the reason in
 * ERROR.
 */
int nbd_write_read (struct nbd_handle *nbd, void *buf, size_t len,
                    uint64_t offset, struct error *error);
int nbd_write_write (struct nbd_handle *nbd, const void *buf, size_t len,
                     uint64_t offset, struct error *error);

/* Wait until the server has flushed written data to its storage.  Returns 0,
 * or -1 with the reason in ERROR.
 */
int nbd_write_flush (struct nbd_handle *nbd, struct error *error);

#endif /* BLKSUM_NBD_WRITE_H */
