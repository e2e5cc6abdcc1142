/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Finish an export when its last connection disconnects: read the ranges whose
 * content is not known (the missing ranges), and publish the sum.
 */

#ifndef NBDKIT_BLKHASH_FINISH_H
#define NBDKIT_BLKHASH_FINISH_H

#include <nbdkit-filter.h>

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
