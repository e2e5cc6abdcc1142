/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line that shows progress, as wide as the terminal.
 */

#ifndef BLKSUM_PROGRESS_BAR_H
#define BLKSUM_PROGRESS_BAR_H

#include <stdint.h>

/* Draw a bar, PERCENT of it full, over what is in the line on the terminal FD,
 * with NAME in front of it, unless that is NULL.
 */
void progress_bar_percent (int fd, const char *name, int percent);

/* The same for what has no known end: DONE bytes, at RATE bytes a second. */
void progress_bar_bytes (int fd, const char *name, uint64_t done, double rate);

/* Wipe it off. */
void progress_bar_wipe (int fd);

#endif /* BLKSUM_PROGRESS_BAR_H */
