/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read an NBD export over open connections into a leaf table.
 */

#ifndef BLKSUM_NBD_READ_H
#define BLKSUM_NBD_READ_H

#include <stdbool.h>
#include <stdint.h>

struct nbd_handle;
struct nbd_server;
struct scan;
struct source_options;

/* Read the missing ranges of SCAN over CONNS, an array of *NR_CONNS (up to 16)
 * open connections to one export.  The image is the first SIZE bytes of the
 * export.  SERVER is NULL if the server is our own qemu-nbd; otherwise the
 * latency may be high, so block status is requested ahead of the reads.
 * Returns 0, or -1 on error or cancellation; the reason of an error is in SCAN.
 *
 * After -1 all connections are closed.  After 0 those that were lost, or have
 * unanswered requests, are closed; the others are moved to the start of CONNS,
 * and *NR_CONNS is set to their number.
 */
int nbd_export_scan (const struct source_options *options,
                     struct nbd_handle **conns, unsigned *nr_conns,
                     struct nbd_server *server, uint64_t size,
                     struct scan *scan);

#endif /* BLKSUM_NBD_READ_H */
