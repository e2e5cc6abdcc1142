/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line that shows progress, as wide as the terminal.
 */

#ifndef BLKSUM_PROGRESS_BAR_H
#define BLKSUM_PROGRESS_BAR_H

/* Replace the line on the terminal FD with NAME, a bar that is PERCENT percent
 * full, and this percentage.  If there is room, add TEXT, and then MORE.  NAME
 * can be NULL; TEXT and MORE can be empty.
 */
void progress_bar_percent (int fd, const char *name, int percent,
                           const char *text, const char *more);

/* Replace the line with NAME, which can be NULL, and TEXT.  For progress whose
 * end is unknown.
 */
void progress_bar_text (int fd, const char *name, const char *text);

/* Erase the line. */
void progress_bar_erase (int fd);

#endif /* BLKSUM_PROGRESS_BAR_H */
