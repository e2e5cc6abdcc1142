/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print how to resume when a long job is interrupted.
 */

#ifndef BLKSUM_INTERRUPT_H
#define BLKSUM_INTERRUPT_H

#include <stdbool.h>

struct options;

/* Prepare the text.  Called once, before interrupt_resumable. */
void interrupt_prepare (const struct options *options);

/* While NOW is true, SIGINT, SIGTERM and SIGHUP print the command line, and
 * then end the program as before.  Ignored signals stay ignored.
 */
void interrupt_resumable (bool now);

#endif /* BLKSUM_INTERRUPT_H */
