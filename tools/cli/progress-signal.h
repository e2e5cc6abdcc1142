/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SIGUSR1 requests the progress, as with dd.
 */

#ifndef BLKSUM_PROGRESS_SIGNAL_H
#define BLKSUM_PROGRESS_SIGNAL_H

/* Start a thread that calls FUNCTION for each SIGUSR1.  Call this once, before
 * other threads start: they inherit a signal mask that blocks SIGUSR1.
 */
void progress_signal_start (void (*function) (void));

#endif /* BLKSUM_PROGRESS_SIGNAL_H */
