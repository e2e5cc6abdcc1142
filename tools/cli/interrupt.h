/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a user who interrupts a long work is told: how to go on with it.
 */

#ifndef BLKSUM_INTERRUPT_H
#define BLKSUM_INTERRUPT_H

#include <stdbool.h>

struct options;

/* To be called once, before the other. */
void interrupt_prepare (const struct options *options);

/* While it is NOW true, SIGINT, SIGTERM and SIGHUP, unless they are ignored,
 * print the command line, and do what they did before: end the program.
 */
void interrupt_resumable (bool now);

#endif /* BLKSUM_INTERRUPT_H */
