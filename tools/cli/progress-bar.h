/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Show the progress of a job: a bar on a terminal, lines for a program, or a
 * line on SIGUSR1.
 */

#ifndef BLKSUM_PROGRESS_BAR_H
#define BLKSUM_PROGRESS_BAR_H

#include "util/progress.h"

struct progress_target {
  int fd;                       /* -1 if no progress is shown */
  bool bar;                     /* a bar; if false, lines N/100 like those of
                                 * nbdcopy */
};

/* Show progress on TARGET.  From this call on, SIGUSR1 prints a line on
 * standard error, whatever TARGET is.  Call this once, before other threads
 * start: they inherit a signal mask that blocks SIGUSR1.
 */
void progress_start (const struct progress_target *target);

/* The callback in the request of a job. */
void progress_update (const struct progress *progress, enum progress_step step,
                      uint64_t bytes);

/* progress_hide erases the bar, and progress_show draws it again.  Between the
 * calls a lock is held, and nothing is drawn, so the caller can print lines.
 * The same thread calls both, between PROGRESS_BEGIN and the end.
 */
void progress_hide (void);
void progress_show (void);

#endif /* BLKSUM_PROGRESS_BAR_H */
