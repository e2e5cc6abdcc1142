/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The files that are named by parameters of this filter, of the filters below
 * it, and of the plugin; and the parameters of those.
 *
 * nbdkit ends at once if the plugin refuses a parameter, such as the path of a
 * disk that does not exist.  By then no earlier result may be there, and
 * whether a file is one is known only after the last parameter.  So the
 * parameters of the plugin and of the filters below are passed on when all are
 * known.
 *
 * A filter cannot know which parameters of the plugin and of other filters are
 * paths, so it treats each value as a path.  Files are compared by device and
 * inode and not by path, because several paths can lead to one file.
 *
 * Called by one thread: files are added in .config, and checked in
 * .config_complete, .get_ready and .after_fork.
 */

#ifndef NBDKIT_BLKHASH_CONFIG_FILES_H
#define NBDKIT_BLKHASH_CONFIG_FILES_H

#include <nbdkit-filter.h>

/* What became of a parameter. */
enum param_result {
  PARAM_UNKNOWN,                /* it is not one of this filter */
  PARAM_STORED,
  PARAM_INVALID                 /* after nbdkit_error */
};

/* Called in .config.  STORE stores the parameters of this filter.  Those of
 * other filters and of the plugin are added to the list.  They may or may not
 * be paths, and VALUE must stay valid until config_files_pass_on passes it on
 * to NEXT (BACKEND).  Returns 0, or -1 after nbdkit_error.
 */
int config_files_config (nbdkit_next_config *next, nbdkit_backend *backend,
                         const char *key, const char *value,
                         enum param_result (*store) (const char *key,
                                                     const char *value));

/* Called in .config_complete: pass on the parameters, in their order.  Returns
 * 0, or -1 after nbdkit_error.  nbdkit can end in this function.
 */
int config_files_pass_on (void);

/* Add the path VALUE of KEY, a parameter of this filter.  Set *RESULT to the
 * absolute path, because nbdkit can change its working directory before the
 * file is opened.  The caller must not free *RESULT: nbdkit frees it at exit.
 */
enum param_result config_files_parse (const char *key, const char *value,
                                      const char **result);

/* Check that PATH, a file that the filter writes for its parameter PARAM, is
 * not the file of another parameter.  Returns 0, or -1 after nbdkit_error.
 */
int config_files_check (const char *param, const char *path);

void config_files_free (void);

#endif /* NBDKIT_BLKHASH_CONFIG_FILES_H */
