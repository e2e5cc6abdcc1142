/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * When a job is interrupted, print the command that resumes it.
 */

#ifndef BLKSUM_INTERRUPT_H
#define BLKSUM_INTERRUPT_H

#include <stdbool.h>

struct options;

/* Prepare the text that is printed.  If there is no memory, no text is printed
 * later.  Called once, before interrupt_set_resumable.
 */
void interrupt_prepare (const struct options *options);

/* If RESUMABLE is true, install handlers of SIGINT, SIGTERM and SIGHUP that
 * print the command before the signal ends the program; otherwise restore
 * the previous actions.  Ignored signals stay ignored.
 */
void interrupt_set_resumable (bool resumable);

#endif /* BLKSUM_INTERRUPT_H */
