/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The start of the output files: the result file and the manifest.  Nothing is
 * changed unless both can be used.
 */

#ifndef NBDKIT_BLKHASH_FILES_H
#define NBDKIT_BLKHASH_FILES_H

#include <stdbool.h>

/* Called in this order.  They return 0, or -1 after nbdkit_error and
 * files_stop.
 *
 * open: checks that the files can be written, and that their old content looks
 * like that of an earlier server.
 * start: empties them, except the manifest if KEEP_MANIFEST is set.
 * check: checks again that they can be written, because nbdkit may have changed
 * its user.
 */
int files_open (void);
int files_start (bool keep_manifest);
int files_check (void);

/* Close the files; if the start failed, remove those that it created. */
void files_stop (void);

#endif /* NBDKIT_BLKHASH_FILES_H */
