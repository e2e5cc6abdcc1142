/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Show how far a job is: a bar on a terminal, lines for a program, or a line on
 * SIGUSR1.
 */

#ifndef BLKSUM_PROGRESS_H
#define BLKSUM_PROGRESS_H

#include "util/progress.h"

struct progress_target {
  int fd;                       /* -1: nothing is shown */
  bool bar;                     /* else lines N/100, as nbdcopy prints */
};

/* The functions that a job calls, so that TARGET shows it.  From now on SIGUSR1
 * prints a line on standard error, whatever else is shown.  To be called once,
 * before there is any other thread.
 */
const struct progress *progress_start (const struct progress_target *target);

/* Between these two nothing is drawn, so that lines can be printed: wipe the
 * bar, and draw it again.  By the same thread, and after begin.
 */
void progress_hide (void);
void progress_show (void);

#endif /* BLKSUM_PROGRESS_H */
