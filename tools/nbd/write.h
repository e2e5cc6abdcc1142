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

struct nbd_writer {
  struct nbd_handle *nbd;
  uint64_t size;                /* of the export, bytes */
  uint32_t align;               /* of requests, bytes */
  size_t max_request;           /* bytes */
};

/* Connect to URI, and check that the server can write and flush, unless
 * READ_ONLY.  0, or -1 with the reason; then WRITER need not be closed.
 */
int nbd_writer_open (struct nbd_writer *writer, const char *uri,
                     bool read_only, struct error *error);
void nbd_writer_close (struct nbd_writer *writer);

/* Read LEN bytes at OFFSET, both multiples of the alignment.  0; -1 with the
 * reason; or 1 if the storage of the server cannot read them.
 */
int nbd_writer_read (const struct nbd_writer *writer, void *buf, size_t len,
                     uint64_t offset, struct error *error);

/* Write LEN bytes at OFFSET, both multiples of the alignment.  0, or -1 with the
 * reason.
 */
int nbd_writer_write (const struct nbd_writer *writer, const void *buf,
                      size_t len, uint64_t offset, struct error *error);

/* Wait until what was written is on the storage of the server.  0, or -1 with
 * the reason.
 */
int nbd_writer_flush (const struct nbd_writer *writer, struct error *error);

#endif /* BLKSUM_NBD_WRITE_H */
