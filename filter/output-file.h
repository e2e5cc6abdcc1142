/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file on the disk: one state of it after the other.
 *
 * It knows nothing of what the text says.  One thread at a time.
 */

#ifndef NBDKIT_BLKHASH_OUTPUT_FILE_H
#define NBDKIT_BLKHASH_OUTPUT_FILE_H

#include <stdbool.h>

/* Make the file, empty, and see that it can be replaced.  0, or -1 with an
 * error told to nbdkit.  Without blkhash-file there is none.
 */
int result_file_start (void);
void result_file_stop (void);

/* See again that the file can be replaced: nbdkit may be another user now. */
int result_file_check (void);

/* Let it say TEXT and nothing else.  NULL: there was no memory for it, and it
 * will say nothing.  SYNC: when this returns, what it said before does not come
 * back, also not by a crash.  What fails is told to nbdkit.
 */
void result_file_write (const char *text, bool sync);

#endif /* NBDKIT_BLKHASH_OUTPUT_FILE_H */
