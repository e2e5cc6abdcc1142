/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The manifest file has the leaves of the last published sum, or is empty.
 *
 * It can be large, so the thread that finishes an export writes the leaves to a
 * new file, PATH.blkhash-saving, while it folds them, that is, while the sum is
 * computed from them.  The new file replaces the manifest when this sum is
 * published.  Requests do not wait for that.  They wait only while that file is
 * renamed to PATH, or while PATH is replaced with an empty file.  The latter
 * can happen while another export's manifest is being written, so the empty
 * file has a different temporary name, see output-file.h.
 *
 * Only one new file exists at a time; a thread that finishes another export
 * waits until it is gone.  So a killed server leaves at most one new file,
 * which the next server removes.
 */

#ifndef NBDKIT_BLKHASH_MANIFEST_SAVE_H
#define NBDKIT_BLKHASH_MANIFEST_SAVE_H

#include <stdbool.h>

struct blkhash_leaves;

/* These call output_file_open etc. for the manifest; manifest_start calls
 * output_file_keep if KEEP is set, otherwise output_file_empty.  Those with a
 * result return 0, or -1 after nbdkit_error.  Without blkhash-manifest all do
 * nothing.
 */
int manifest_open (bool create);
int manifest_check (void);
int manifest_start (bool keep);
void manifest_stop (void);

/* Returns a file descriptor of the manifest of an earlier server, or -1 if
 * there is no such manifest.  The caller does not close it, and uses it only
 * before the manifest is replaced or emptied.
 */
int manifest_old (void);

/* Fold the leaves like blkhash_leaves_fold, write them to a new file, and sync
 * it.  Sets *SAVED to true if the new file was written.  Then the caller owns
 * the file and must call manifest_end; until then, other threads wait in this
 * function.  Without blkhash-manifest, or if the file cannot be written, which
 * is reported with nbdkit_error, only the sum is computed.  The caller must
 * hold no lock.
 */
int manifest_fold (struct blkhash_leaves *l, unsigned char *md, unsigned *len,
                   bool *saved);

/* Remove the new file if manifest_move was not called, and let other threads
 * continue.
 */
void manifest_end (void);

/* Replace the manifest by the new file, or by an empty file.  Once the function
 * has returned, not even a crash brings back the old content.  If it fails, the
 * error is reported with nbdkit_error, and the manifest is emptied or removed.
 * Called only by the thread that writes the report.
 */
void manifest_move (void);
void manifest_empty (void);

#endif /* NBDKIT_BLKHASH_MANIFEST_SAVE_H */
