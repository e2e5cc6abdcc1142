/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * When the last connection to an export disconnects: read the missing ranges,
 * and publish the sum.
 */

#ifndef NBDKIT_BLKHASH_FINISH_H
#define NBDKIT_BLKHASH_FINISH_H

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

struct conn;

/* Flush the changes of CONN, which is about to disconnect, and read those that
 * no other connection can see.  Called for each connection, not only the last.
 * Both functions are called from .finalize, with its NEXT.
 */
void finish_changes (nbdkit_next *next, struct conn *conn);

/* Finish the export of CONN, its last connection: conn_disconnect returned
 * true.  The result, if there is one, is in the result file on return.
 */
void finish (nbdkit_next *next, struct conn *conn);

#endif /* NBDKIT_BLKHASH_FINISH_H */
