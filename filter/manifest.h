/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The manifest file: the leaves of the last sum, or empty.
 *
 * The leaves are written to a new file while they are folded.  It replaces the
 * manifest when their sum is published.
 */

#ifndef NBDKIT_BLKHASH_MANIFEST_H
#define NBDKIT_BLKHASH_MANIFEST_H

#include <stdbool.h>

struct blkhash_leaves;

/* Start-up, as in output-file.h, where start is empty.  Returns 0, or -1 after
 * nbdkit_error.  They do nothing without blkhash-manifest.
 */
int manifest_open (void);
int manifest_lock (void);
int manifest_check (void);
int manifest_start (void);
void manifest_stop (void);

/* As blkhash_leaves_fold.  *SAVED is set to true if the leaves are in a new
 * file, which is synced.  It is false without blkhash-manifest, or if that
 * failed, after nbdkit_error.  If it is true the caller owns the new file until
 * manifest_end, and other threads wait here.  Call it without any lock.
 */
int manifest_fold (struct blkhash_leaves *l, unsigned char *md, unsigned *len,
                   bool *saved);

/* Release the new file; remove it if it was not moved. */
void manifest_end (void);

/* Replace the manifest by the new file, or by an empty one.  When this returns,
 * the old content does not come back, also after a crash.  After an error,
 * which goes to nbdkit_error, the manifest is empty.  One thread at a time.
 */
void manifest_move (void);
void manifest_empty (void);

#endif /* NBDKIT_BLKHASH_MANIFEST_H */
