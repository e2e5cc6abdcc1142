/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SIGUSR1 asks how far it is, as it does dd: when that is answered, and where.
 */

#ifndef BLKSUM_PROGRESS_SIGNAL_H
#define BLKSUM_PROGRESS_SIGNAL_H

/* From now on ANSWER is called for it, in a thread of its own.  To be called
 * once, before there is any other thread: they must not get the signal.
 */
void progress_signal_answer (void (*answer) (void));

#endif /* BLKSUM_PROGRESS_SIGNAL_H */
