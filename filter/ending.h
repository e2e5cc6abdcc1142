/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of the server, for connections of which nbdkit does not know yet.
 *
 * nbdkit counts a connection when its thread begins to run, and not when it is
 * accepted.  When it is told to quit in between, it does not wait for that
 * thread, and frees plugin and filters under it.  Such a connection has done no
 * request, and will do none: nbdkit refuses them all by then.
 */

#ifndef NBDKIT_BLKHASH_ENDING_H
#define NBDKIT_BLKHASH_ENDING_H

#include <stdbool.h>

/* The server ends.  Waits for connections that are between ending_enter and
 * ending_leave.
 */
void ending_begin (void);

/* Called by the thread of a connection that is about to use the plugin after its
 * last request.  False if it must not, as the server ends.
 */
bool ending_enter (void);
void ending_leave (void);

/* Called by the thread of a connection when that begins, without any lock.  Does
 * not return if the server ends: the thread would run into what is being freed.
 */
void ending_stop_thread (void);

#endif /* NBDKIT_BLKHASH_ENDING_H */
