/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is learnt from each request that passes by.
 *
 * Nothing here calls the plugin, and nothing here can fail a request: what
 * goes wrong with hashing only means that there is no sum.
 */

#ifndef NBDKIT_BLKHASH_WATCH_H
#define NBDKIT_BLKHASH_WATCH_H

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
void learn_begin (struct conn *conn, struct request *request,
                  uint64_t offset, uint64_t len);
void learn_data (struct conn *conn, const struct request *request,
                 const void *buf);
void learn_extents (struct conn *conn, const struct request *request,
                    const struct nbdkit_extents *extents, bool first_only);

/* BYTES_READ is what a client read by it. */
void learn_end (struct conn *conn, struct request *request,
                uint64_t bytes_read);

/* What a change leaves behind. */
enum change {
  CHANGE_REFUSED,               /* a fast zero; unknown, too, see watch.c */
  CHANGE_UNKNOWN,               /* an error */
  CHANGE_TRIM,
  CHANGE_DATA,                  /* what is in BUF */
  CHANGE_ZERO,
};

/* A change: begin before the plugin is asked, and end when it is done.  When
 * begin returns no sum of the old content is in the result file, nor can come
 * back there by a crash.
 */
void change_begin (struct conn *conn, struct request *request,
                   uint64_t offset, uint64_t len);
void change_end (struct conn *conn, struct request *request,
                 enum change change, const void *buf);

#endif /* NBDKIT_BLKHASH_WATCH_H */
