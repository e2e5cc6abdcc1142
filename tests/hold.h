/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of a plugin that a test can hold, so that no moment is left to luck.
 */

#ifndef TESTS_HOLD_H
#define TESTS_HOLD_H

/* Where the FIFOs are; NULL: nothing is held. */
extern const char *hold_dir;

/* While there is a FIFO hold_dir/CALL, wait: first for a writer, whom that
 * tells that the call is here, then until the writer closes it.
 */
void hold (const char *call);

/* If there is a number N in hold_dir/lock-after-CALL, this thread will be held,
 * as "lock", where it takes a lock for the Nth time from now on, and holds none
 * that it took after now.  With N = 1, 2, 3 ... that is every place where
 * threads can be interleaved.  It needs this module in LD_PRELOAD.
 */
void hold_after (const char *call);

/* With this module in LD_PRELOAD, too, a new thread is held as "thread" before it
 * runs, and what closes a socket that listens as "listening".  When nbdkit
 * quits, it has waited for its connections then.
 */

#endif /* TESTS_HOLD_H */
