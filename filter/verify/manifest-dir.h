/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The directory of blkhash-verify-manifest-dir: a manifest for each export.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_MANIFEST_DIR_H
#define NBDKIT_BLKHASH_VERIFY_MANIFEST_DIR_H

/* Open the directory PATH, before the server forks.  PATH must live until
 * manifest_dir_close.  Returns 0, or -1 after nbdkit_error.
 */
int manifest_dir_open (const char *path);
void manifest_dir_close (void);

/* Open the manifest of the export NAME, which a client chose.  Returns its file
 * descriptor, and stores its path, which the caller frees; or -1 after
 * nbdkit_error.
 */
int manifest_dir_open_file (const char *name, char **path);

#endif /* NBDKIT_BLKHASH_VERIFY_MANIFEST_DIR_H */
