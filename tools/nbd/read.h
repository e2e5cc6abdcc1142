/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read an NBD export that has been connected to, and hash it.
 */

#ifndef BLKSUM_NBD_READ_H
#define BLKSUM_NBD_READ_H

#include <stdint.h>

struct error;
struct nbd_handle;
struct options;
struct sum;

#define NBD_MAX_CONNS 16

/* CONNS are NR_CONNS open connections, 1 to NBD_MAX_CONNS, to one export of
 * SIZE bytes.  They are closed.  0, or -1 with the reason.
 */
int nbd_read_and_hash (const struct options *options,
                       struct nbd_handle **conns, unsigned nr_conns,
                       uint64_t size, struct sum *sum, struct error *error);

#endif /* BLKSUM_NBD_READ_H */
