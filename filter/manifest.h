/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The manifest on the disk: a file with the leaves that were folded, or an
 * empty one.
 *
 * It knows nothing of exports.  Who folds leaves writes them to a new file,
 * which is moved into its place when there is a sum.
 */

#ifndef NBDKIT_BLKHASH_MANIFEST_H
#define NBDKIT_BLKHASH_MANIFEST_H

#include <stdbool.h>

struct blkhash_leaves;

/* The start, as in output-file.h; start is the last.  0, or -1 with an error told
 * to nbdkit.  Without blkhash-manifest they do nothing.
 */
int manifest_open (void);
int manifest_lock (void);
int manifest_check (void);
int manifest_start (void);
void manifest_stop (void);

/* As blkhash_leaves_fold.  *SAVED is set to whether the leaves are in a new
 * file, which is on the disk: not without blkhash-manifest, nor when that
 * failed, which is told to nbdkit.  Then the new file is the caller's until
 * manifest_end; another thread waits for that.  To be called without any lock.
 */
int manifest_fold (struct blkhash_leaves *l, unsigned char *md, unsigned *len,
                   bool *saved);

/* Removes the new file if it was not moved. */
void manifest_end (void);

/* Move the new file into its place, or let there be an empty one.  When this
 * returns, what was there does not come back, also not by a crash.  What fails
 * is told to nbdkit; the manifest is empty then.  One thread at a time.
 */
void manifest_move (void);
void manifest_empty (void);

#endif /* NBDKIT_BLKHASH_MANIFEST_H */
