/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line that shows progress, as wide as the terminal.
 */

#ifndef BLKSUM_PROGRESS_BAR_H
#define BLKSUM_PROGRESS_BAR_H

/* Draw a bar, PERCENT of it full, over what is in the line on the terminal FD,
 * with NAME in front of it, unless that is NULL, and TEXT behind it, and behind
 * that MORE, if there is room for it.
 */
void progress_bar_percent (int fd, const char *name, int percent,
                           const char *text, const char *more);

/* The same of something that has no known end: no bar. */
void progress_bar_text (int fd, const char *name, const char *text);

/* Erase the line. */
void progress_bar_erase (int fd);

#endif /* BLKSUM_PROGRESS_BAR_H */
