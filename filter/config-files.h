/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The files that parameters name: ours, of the plugin, and of filters below.
 */

#ifndef NBDKIT_BLKHASH_CONFIG_FILES_H
#define NBDKIT_BLKHASH_CONFIG_FILES_H

/* The parameter KEY has VALUE, which may be the path of a file.  0, or -1 with
 * an error told to nbdkit.
 */
int config_files_add (const char *key, const char *value);

/* See that PATH, which the parameter PARAM makes us write, is not the file of
 * another parameter.  0, or -1 with an error told to nbdkit.
 */
int config_files_check (const char *param, const char *path);

void config_files_free (void);

#endif /* NBDKIT_BLKHASH_CONFIG_FILES_H */
