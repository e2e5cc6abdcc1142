/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The start and the shutdown of the server, which are the same in both filters.
 *
 * At the shutdown, connections are stopped for which nbdkit does not wait:
 * nbdkit counts a connection when its thread begins to run, not when it accepts
 * the connection.  If nbdkit gets a signal to quit in between, it does not wait
 * for that thread, and frees the plugin and the filters while the thread uses
 * them.  Such a connection never makes a request, because nbdkit refuses all
 * requests after the signal.
 *
 * A thread that must not continue waits for the exit of the process.  The code
 * in which it waits stays in memory when nbdkit unloads this module (see -z
 * nodelete in Makefile.am).  The connection is not refused instead: nbdkit
 * would then use its list of filters to free the handles of the connection, and
 * the filters may already be freed.
 */

#ifndef NBDKIT_BLKHASH_SERVER_H
#define NBDKIT_BLKHASH_SERVER_H

#include <stdbool.h>

#include <nbdkit-filter.h>

/* .load of the filters. */
void server_load (void);

/* .preconnect of the filters, which the thread of the connection calls.  If the
 * server is ending, this does not return, because the thread would use freed
 * memory.
 */
int server_preconnect (nbdkit_next_preconnect *next, nbdkit_backend *nxdata,
                       int readonly);

/* Called in .config_complete: refuse more than one instance of the filter NAME
 * on the command line, because all instances would share the static state of
 * one module.  Returns 0, or -1 after nbdkit_error.
 */
int server_check_single (const char *name);

/* Called in .unload.  Returns true for the last instance, which frees the
 * state.
 */
bool server_unload (void);

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

#endif /* NBDKIT_BLKHASH_SERVER_H */
