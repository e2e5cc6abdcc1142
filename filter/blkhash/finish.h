/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Finish an export when its last connection disconnects.
 *
 * The steps are: if the leaf table began with the leaves of a manifest, read a
 * sample of the disk, to audit them; query the extents of the missing ranges,
 * whose content is not known; read the ranges that are still missing; compute
 * the sum from the leaves (fold them); publish the sum, unless there was a
 * change in the meantime.
 *
 * Another connection can join at any moment.  Then this connection stops, and
 * the other connection finishes the export when it disconnects.
 *
 * A client that only probes the disk, such as nbdinfo, must not cause a read of
 * the whole disk.  So if no client wrote, the missing ranges are read only if
 * they are smaller than the data that clients read.  The result file gets no
 * line for an export that was only probed, unless the server ends and there is
 * no other line (see finish_report): clients can probe any number of export
 * names.
 *
 * Called by nbdkit's threads, each for its own connection.
 */

#ifndef NBDKIT_BLKHASH_FINISH_H
#define NBDKIT_BLKHASH_FINISH_H

#include <nbdkit-filter.h>

struct conn;

/* finish_changes and finish_export are called from .finalize, with its NEXT.
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
void finish_export (nbdkit_next *next, struct conn *conn);

/* Publish the sum of each export whose content is known, and report why other
 * exports that clients read or changed have none.  If no export has a line
 * after that, the unused exports are reported too, so that the result file is
 * not empty.  Called once, from .cleanup, after the last connection has ended.
 */
void finish_report (void);

#endif /* NBDKIT_BLKHASH_FINISH_H */
