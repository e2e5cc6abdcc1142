/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Observing a request that reads: pread or extents.
 *
 * Nothing here calls the plugin, or fails the request: if hashing fails, there
 * is no sum.
 */

#ifndef NBDKIT_BLKHASH_OBSERVE_H
#define NBDKIT_BLKHASH_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "inflight.h"

struct conn;
struct nbdkit_extents;

/* A request: begin before the plugin is called, then data or extents if it
 * succeeds, then end.  A connection that has disconnected can still read, see
 * pass.c.
 *
 * Extents that are ZERO prove zeros, except where clients changed the disk.
 * The list may extend beyond the request.  FIRST_ONLY: only its first entry is
 * valid.
 */
void observe_begin (struct conn *conn, struct request *request,
                    uint64_t offset, uint64_t len);
void observe_data (struct conn *conn, const struct request *request,
                   const void *buf);
void observe_extents (struct conn *conn, const struct request *request,
                      const struct nbdkit_extents *extents, bool first_only);

/* BYTES_READ: how many bytes a client read, 0 for the filter's own reads. */
void observe_end (struct conn *conn, struct request *request,
                  uint64_t bytes_read);

#endif /* NBDKIT_BLKHASH_OBSERVE_H */
