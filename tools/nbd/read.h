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
struct scan;
struct source_options;

/* Read what SCAN lacks over CONNS, NR_CONNS open connections, up to 16, to one
 * export.  The image is the first SIZE bytes of the export.  IS_REMOTE: the
 * server may be distant, so block status is requested ahead.  0, or -1 with the
 * reason in SCAN.
 *
 * After an error all connections are closed, and otherwise those whose server
 * did not reply to all requests.  The others are in CONNS.
 */
int nbd_scan (const struct source_options *options, struct nbd_handle **conns,
              unsigned *nr_conns, bool is_remote, uint64_t size,
              struct scan *scan);

#endif /* BLKSUM_NBD_READ_H */
