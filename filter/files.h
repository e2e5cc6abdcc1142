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
 * open: check that the files can be written and that an earlier server may have
 * written their content.
 * start: empty them, but leave the manifest as it is if KEEP_MANIFEST is set.
 * check: check again that they can be written, because nbdkit may have changed
 * its user.
 */
int files_open (void);
int files_start (bool keep_manifest);
int files_check (void);

void files_stop (void);

#endif /* NBDKIT_BLKHASH_FILES_H */
