/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line that shows progress, as wide as the terminal.
 */

#ifndef BLKSUM_PROGRESS_BAR_H
#define BLKSUM_PROGRESS_BAR_H

/* Draw a bar, PERCENT of it full, over what is in the line on the terminal FD,
 * with NAME in front of it, unless that is NULL, and TEXT behind it, if there
 * is room.
 */
void progress_bar_percent (int fd, const char *name, int percent,
                           const char *text);

/* The same of something that has no known end: no bar. */
void progress_bar_text (int fd, const char *name, const char *text);

/* Erase the line. */
void progress_bar_erase (int fd);

#endif /* BLKSUM_PROGRESS_BAR_H */
