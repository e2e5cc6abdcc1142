/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The block status of an NBD export, as extents for the cursor.  The server
 * returns a few extents at a time.
 */

#ifndef BLKSUM_NBD_EXTENTS_H
#define BLKSUM_NBD_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct extent;
struct nbd_handle;

struct nbd_extents {
  struct nbd_handle *nbd;       /* the connection to query; can be changed */
  uint64_t size;                /* of the export, bytes */
  uint64_t offset;              /* of the first extent not yet used */
  struct extent *items;         /* of the last reply */
  size_t count, next;           /* how many, and the first not yet used */
};

void nbd_extents_init (struct nbd_extents *extents, uint64_t size);
void nbd_extents_destroy (struct nbd_extents *extents);

/* Does the server support block status? */
bool nbd_can_extents (struct nbd_handle *nbd);

/* An extent_function of the cursor; OPAQUE is a struct nbd_extents. */
int nbd_extent_at (void *opaque, uint64_t offset, struct extent *extent,
                   struct error *error);

#endif /* BLKSUM_NBD_EXTENTS_H */
