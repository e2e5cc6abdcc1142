/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Finish an export when its last connection disconnects: read the ranges whose
 * content is not known (the missing ranges), and publish the sum.
 */

#ifndef NBDKIT_BLKHASH_FINISH_H
#define NBDKIT_BLKHASH_FINISH_H

#include <stdbool.h>

#include <nbdkit-filter.h>

/* Flush a connection whose client has disconnected.  After the flush, this
 * connection sees the changes that other connections flushed, and they see its
 * changes (without multi-conn, only after they are flushed too).  Trims are an
 * exception: see visibility.c.
 */

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

/* The final report, written when the server ends.
 */

/* Publish the sum of each export whose content is known, and report why other
 * exports that clients read or changed have none.  If no export has a line
 * after that, the unused exports are reported too, so that the result file is
 * not empty.  Called once, from .cleanup, after the last connection has ended.
 */
void final_report (void);

struct conn;

/* Both functions are called from .finalize, with its NEXT.
 *
 * Flush the changes of CONN.  If other connections still might not see some of
 * these changes, read them back through CONN, which sees them.  Called for each
 * connection that disconnects, not only the last one.
 */
void finish_changes (nbdkit_next *next, struct conn *conn);

/* Finish the export of which CONN is the last connection.  Called if
 * conn_disconnect returned true.  If a sum is published, or a reason why there
 * is none, the result file contains it on return.
 */
void finish (nbdkit_next *next, struct conn *conn);

#endif /* NBDKIT_BLKHASH_FINISH_H */
