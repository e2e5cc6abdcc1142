/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SIGUSR1 asks how far it is, as it does dd.
 */

#ifndef BLKSUM_PROGRESS_SIGNAL_H
#define BLKSUM_PROGRESS_SIGNAL_H

/* From now on SIGUSR1 has it printed on standard error.  To be called before
 * there is any other thread: they must not get the signal.
 */
void progress_signal_start (void);

#endif /* BLKSUM_PROGRESS_SIGNAL_H */
