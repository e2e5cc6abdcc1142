/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Flush a connection whose client has disconnected.  After the flush, this
 * connection sees the changes that other connections flushed, and they see its
 * changes (without multi-conn, only after they are flushed too).  Trims are an
 * exception: see visibility.c.
 */

#ifndef NBDKIT_BLKHASH_FLUSH_H
#define NBDKIT_BLKHASH_FLUSH_H

#include <stdbool.h>

#include <nbdkit-filter.h>

struct conn;
struct pass;

/* Flush the connection.  Returns false if the flush failed, or if the plugin
 * cannot flush.
 */
bool flush_conn (nbdkit_next *next, struct conn *conn);

/* Flush the connection if other connections changed the disk after it was
 * opened or last flushed, even with multi-conn.  Returns false if it might
 * still not see the changes that they flushed: this flush failed, or the plugin
 * cannot flush and does not advertise multi-conn.
 */
bool flush_to_see_changes (const struct pass *p);

/* With blkhash-update, flush if the disk was changed since the last flush.  The
 * next server relies on the manifest, so all changes must be on the disk before
 * the manifest is published.  Returns false if some might not be on the disk:
 * this flush or an earlier one failed, or a change is in flight.  If the plugin
 * cannot flush, returns true without a flush.
 */
bool flush_to_update (const struct pass *p);

#endif /* NBDKIT_BLKHASH_FLUSH_H */
