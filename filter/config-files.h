/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The files that are named by parameters of this filter, of the filters below
 * it, and of the plugin.
 *
 * Called by one thread: files are added in .config, and checked in .get_ready
 * and .after_fork.
 */

#ifndef NBDKIT_BLKHASH_CONFIG_FILES_H
#define NBDKIT_BLKHASH_CONFIG_FILES_H

/* Add VALUE, the value of the parameter KEY.  It may or may not be a path, see
 * config-files.c.  Returns 0, or -1 after nbdkit_error.
 */
int config_files_add (const char *key, const char *value);

/* Add the path VALUE of KEY, a parameter of this filter.  Set *RESULT to the
 * absolute path, because nbdkit can change its working directory before the
 * file is opened.  The caller must not free *RESULT: nbdkit frees it at exit.
 * Returns 1, or -1 after nbdkit_error.
 */
int config_files_parse (const char *key, const char *value,
                        const char **result);

/* Check that PATH, a file that the filter writes for its parameter PARAM, is
 * not the file of another parameter.  Returns 0, or -1 after nbdkit_error.
 */
int config_files_check (const char *param, const char *path);

/* Check the files that parameters of the plugin and of other filters name: one
 * of these files is the disk that a repair writes.  None may be a block device
 * that is in use, for instance mounted, or a file that a program of qemu has
 * locked.  The file that the parameter "file" names must be writable.  Returns
 * 0, or -1 after nbdkit_error, whose message begins with PARAM.
 */
int config_files_check_disks (const char *param);

void config_files_free (void);

#endif /* NBDKIT_BLKHASH_CONFIG_FILES_H */
