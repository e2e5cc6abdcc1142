/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is learnt from a request that looks at the disk.
 *
 * Nothing here calls the plugin, and nothing here can fail a request: what
 * goes wrong with hashing only means that there is no sum.
 */

#ifndef NBDKIT_BLKHASH_OBSERVE_H
#define NBDKIT_BLKHASH_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "inflight.h"

struct conn;
struct nbdkit_extents;

/* A look at the export: begin before the plugin is asked, then tell what it
 * found, then end.  A connection that has left can still look.
 *
 * Of extents that are ZERO the content is known, unless a client changed it;
 * the list can be longer than what was asked for, and only its first one
 * counts if FIRST_ONLY.
 */
void observe_begin (struct conn *conn, struct request *request,
                    uint64_t offset, uint64_t len);
void observe_data (struct conn *conn, const struct request *request,
                   const void *buf);
void observe_extents (struct conn *conn, const struct request *request,
                      const struct nbdkit_extents *extents, bool first_only);

/* BYTES_READ is what a client read by it. */
void observe_end (struct conn *conn, struct request *request,
                  uint64_t bytes_read);

#endif /* NBDKIT_BLKHASH_OBSERVE_H */
