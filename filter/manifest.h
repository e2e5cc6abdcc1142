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

/* The start-up functions of output-file.h; manifest_start calls
 * output_file_empty, or output_file_keep if KEEP is set.  They return 0, or -1
 * after nbdkit_error, and do nothing without blkhash-manifest.
 */
int manifest_open (void);
int manifest_check (void);
int manifest_start (bool keep);
void manifest_stop (void);

/* Returns the descriptor of the manifest of an earlier server, which is valid
 * until manifest_start, or -1 if there is none.
 */
int manifest_old (void);

/* The same as blkhash_leaves_fold, but also write the leaves to a new file, and
 * sync it.  *SAVED is set to false without blkhash-manifest, or if the file
 * could not be written, after nbdkit_error.  If *SAVED is true, the caller owns
 * the new file until manifest_end, and other threads wait in this function.
 * The caller must hold no lock.
 */
int manifest_fold (struct blkhash_leaves *l, unsigned char *md, unsigned *len,
                   bool *saved);

/* Release the new file, and remove it if it was not moved. */
void manifest_end (void);

/* Replace the manifest by the new file, or by an empty file.  When this
 * returns, the old content does not come back, even after a crash.  Errors are
 * reported with nbdkit_error; then the manifest is emptied or removed.  Called
 * by one thread at a time, the one that writes the report.
 */
void manifest_move (void);
void manifest_empty (void);

#endif /* NBDKIT_BLKHASH_MANIFEST_H */
