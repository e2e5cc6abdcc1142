/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Holds calls of a plugin, so that a test can determine their order.
 */

#ifndef TESTS_HOLD_H
#define TESTS_HOLD_H

/* The directory of the FIFOs; NULL: nothing is held. */
extern const char *hold_dir;

/* If the FIFO hold_dir/CALL exists, wait: first until it has a writer, which
 * sees by that that the call is here, and then until the writer closes it.
 */
void hold (const char *call);

/* If hold_dir/lock-after-CALL contains a number N, this thread is held, as
 * "lock", when it takes a lock for the Nth time from now on while it holds no
 * lock taken since.  N = 1, 2, 3 ... are all places where threads can be
 * interleaved.  This needs this module in LD_PRELOAD.
 */
void hold_after (const char *call);

/* With this module in LD_PRELOAD, a new thread is held as "thread" before it
 * runs, and a thread that closes a listening socket as "listening": when nbdkit
 * quits, it has then waited for its connections.
 */

#endif /* TESTS_HOLD_H */
