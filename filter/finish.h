/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The last connection to an export disconnects: read what is missing, and
 * publish the sum.
 */

#ifndef NBDKIT_BLKHASH_FINISH_H
#define NBDKIT_BLKHASH_FINISH_H

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

struct conn;

/* CONN is about to disconnect, as the last or not: flush its changes, and read
 * those that other connections cannot see.  Both functions are called from
 * .finalize, with the NEXT of that.
 */
void finish_changes (nbdkit_next *next, struct conn *conn);

/* CONN was the last connection of its export: conn_disconnect returned true.
 * When this returns, the result, if there is one, is in the result file.
 */
void finish (nbdkit_next *next, struct conn *conn);

#endif /* NBDKIT_BLKHASH_FINISH_H */
