/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The files that parameters name: those of this filter, of the plugin, and of
 * filters below.
 *
 * Called by one thread: files are added in .config, and checked in .get_ready
 * and .after_fork.
 */

#ifndef NBDKIT_BLKHASH_CONFIG_FILES_H
#define NBDKIT_BLKHASH_CONFIG_FILES_H

/* Add VALUE of the parameter KEY, which may be the path of a file.  Returns 0,
 * or -1 after nbdkit_error.
 */
int config_files_add (const char *key, const char *value);

/* Add the file VALUE of the parameter KEY, which this filter uses, and set
 * *RESULT to its absolute path, because nbdkit can change its working directory
 * before the file is opened.  Returns 1, or -1 after nbdkit_error.
 */
int config_files_parse (const char *key, const char *value,
                        const char **result);

/* Check that PATH, which the filter writes because of PARAM, is not the file of
 * another parameter.  Returns 0, or -1 after nbdkit_error.
 */
int config_files_check (const char *param, const char *path);

void config_files_free (void);

#endif /* NBDKIT_BLKHASH_CONFIG_FILES_H */
