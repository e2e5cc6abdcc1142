/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What happens when the last connection to an export leaves: find out the
 * rest, and publish the sum.
 */

#ifndef NBDKIT_BLKHASH_FINISH_H
#define NBDKIT_BLKHASH_FINISH_H

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

struct conn;

/* CONN will leave, the last or not: let others see what it changed; NEXT is its
 * way to the plugin.
 */
void finish_changes (nbdkit_next *next, struct conn *conn);

/* CONN was the last connection of its export and has left; NEXT is its way to
 * the plugin.  The result, if there is one, is in the report then.
 */
void finish (nbdkit_next *next, struct conn *conn);

#endif /* NBDKIT_BLKHASH_FINISH_H */
