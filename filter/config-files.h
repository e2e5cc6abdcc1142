/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The files that parameters name: those of this filter, of the plugin, and of
 * filters below.
 *
 * Files are added while nbdkit configures, by one thread.
 */

#ifndef NBDKIT_BLKHASH_CONFIG_FILES_H
#define NBDKIT_BLKHASH_CONFIG_FILES_H

/* Add VALUE of the parameter KEY, which may be the path of a file.  Returns 0,
 * or -1 after nbdkit_error.
 */
int config_files_add (const char *key, const char *value);

/* Store the path of a file that this filter uses, the VALUE of the parameter
 * KEY, and add it.  It is made absolute, because nbdkit changes its directory.
 * 1, or -1 after nbdkit_error.
 */
int config_files_parse (const char *key, const char *value,
                        const char **result);

/* Check that PATH, which the filter writes because of PARAM, is not the file of
 * another parameter.  Returns 0, or -1 after nbdkit_error.
 */
int config_files_check (const char *param, const char *path);

void config_files_free (void);

#endif /* NBDKIT_BLKHASH_CONFIG_FILES_H */
