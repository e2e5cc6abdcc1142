/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Start-up of the output files: the result file and the manifest.  No existing
 * file is changed unless both can be used.
 */

#ifndef NBDKIT_BLKHASH_FILES_H
#define NBDKIT_BLKHASH_FILES_H

#include <stdbool.h>

/* Called in this order.  They return 0.  If they fail, they call nbdkit_error
 * and files_stop, and return -1.
 *
 * withdraw: empties the files that exist, except the manifest of an update,
 * before anything else is done that can fail, and closes them.
 * open: creates the files that do not exist.  Checks that all files can be
 * written, and that an earlier server wrote their content, if they have any.
 * start: empties the files, except the manifest if KEEP_MANIFEST is set.
 * check: checks again that the files can be written, because nbdkit may have
 * changed its user.
 */
int files_withdraw (void);
int files_open (void);
int files_start (bool keep_manifest);
int files_check (void);

/* Close the files.  Remove those that files_open created, if the start failed
 * before files_start emptied or kept them.
 */
void files_stop (void);

#endif /* NBDKIT_BLKHASH_FILES_H */
