/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the command that resumes a job when the job is interrupted.
 */

#ifndef BLKSUM_INTERRUPT_H
#define BLKSUM_INTERRUPT_H

#include <stdbool.h>

struct options;

/* Prepare the text.  Called once, before interrupt_set_resumable. */
void interrupt_prepare (const struct options *options);

/* If RESUMABLE is true, install handlers of SIGINT, SIGTERM and SIGHUP that
 * print the command line before the signal ends the program; otherwise restore
 * the previous actions.  Ignored signals stay ignored.
 */
void interrupt_set_resumable (bool resumable);

#endif /* BLKSUM_INTERRUPT_H */
