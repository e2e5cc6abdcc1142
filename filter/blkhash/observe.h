/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Observe a request that reads, pread or extents: add its content to the leaf
 * table of the export (see blkhash-leaves.h).
 *
 * The content is hashed between observe_begin and observe_end, without the
 * lock.  If a request that modifies the disk accesses the same bytes at the
 * same time, these bytes are tainted: their content is unknown (see struct
 * request).  Each of the two requests invalidates the tainted part when it
 * ends, so the order in which they end does not matter.
 *
 * A read by a stale connection proves nothing, because it may return old
 * content: another connection changed the disk, and the plugin does not
 * advertise multi-conn.  Even with multi-conn, a connection might not see a
 * change by another connection before the other one is flushed.  visibility.c
 * determines the blocks whose content a read proves, and claims.c the extents
 * that prove zeros.
 *
 * These functions do not call the plugin, and never fail the request: if
 * hashing fails, there is no sum.
 */

#ifndef NBDKIT_BLKHASH_OBSERVE_H
#define NBDKIT_BLKHASH_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash/disk.h"

struct conn;
struct nbdkit_extents;

/* For each request observe_begin is called before the plugin, then observe_data
 * or observe_extents if the plugin succeeds, and in any case observe_end.  They
 * are also called for reads by the filter itself, through a connection whose
 * client has disconnected, see pass.h.
 *
 * An extent with NBDKIT_EXTENT_ZERO is known to be zero if it counts, see
 * claims.h.  The list of extents may reach beyond the request.  If FIRST_ONLY
 * is set, only the first extent is used.  BUF must be valid until observe_end.
 */
void observe_begin (struct conn *conn, struct request *request,
                    uint64_t offset, uint64_t len);
void observe_data (struct conn *conn, struct request *request,
                   const void *buf);
void observe_extents (struct conn *conn, struct request *request,
                      const struct nbdkit_extents *extents, bool first_only);

/* BYTES_READ is the number of bytes that a client read; 0 for extents, failed
 * reads, and reads by the filter itself.
 */
void observe_end (struct conn *conn, struct request *request,
                  uint64_t bytes_read);

#endif /* NBDKIT_BLKHASH_OBSERVE_H */
