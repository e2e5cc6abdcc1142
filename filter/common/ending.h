/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Shutdown of the server: stop connections for which nbdkit does not wait.
 *
 * nbdkit counts a connection when its thread begins to run, not when it accepts
 * the connection.  If nbdkit gets a signal to quit in between, it does not wait
 * for that thread, and frees the plugin and the filters while the thread uses
 * them.  Such a connection never makes a request, because nbdkit refuses all
 * requests after the signal.
 */

#ifndef NBDKIT_BLKHASH_ENDING_H
#define NBDKIT_BLKHASH_ENDING_H

#include <stdbool.h>

/* Called from .cleanup, when the server ends.  Waits for threads that are
 * between ending_enter and ending_leave.
 */
void ending_begin (void);

/* Called before and after a thread uses the plugin in .finalize, which is after
 * the last request of its connection, or counts the connection in .prepare.
 * ending_enter returns false if the server is ending; then the thread must
 * neither do that nor call ending_leave.
 */
bool ending_enter (void);
void ending_leave (void);

/* Called from .preconnect, by the thread of the connection.  The caller must
 * hold no lock.  If the server is ending, this does not return, because the
 * thread would use freed memory.
 */
void ending_stop_thread (void);

#endif /* NBDKIT_BLKHASH_ENDING_H */
