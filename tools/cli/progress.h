/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Show the progress of a job: a bar on a terminal, lines for a program, or a
 * line on SIGUSR1.
 */

#ifndef BLKSUM_PROGRESS_H
#define BLKSUM_PROGRESS_H

#include "util/progress.h"

struct progress_target {
  int fd;                       /* -1 if no progress is shown */
  bool bar;                     /* a bar, or else lines N/100, like nbdcopy */
};

/* Returns the functions that a job calls to show its progress on TARGET.  After
 * this SIGUSR1 prints a line on standard error, independent of TARGET.  Called
 * once, before other threads start.
 */
const struct progress *progress_start (const struct progress_target *target);

/* Erase the bar, and draw it again.  Between these calls a lock is held, and
 * nothing is drawn, so lines can be printed.  Called by the same thread, after
 * begin.
 */
void progress_hide (void);
void progress_show (void);

#endif /* BLKSUM_PROGRESS_H */
