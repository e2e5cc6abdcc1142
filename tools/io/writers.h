/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Does another process have a file or block device open for writing?
 */

#ifndef BLKSUM_WRITERS_H
#define BLKSUM_WRITERS_H

#include <sys/stat.h>

struct error;

/* Check that no other process has the file or device of ST open for writing, as far
 * as /proc lists their files for us.  0, or -1 with the reason.
 */
int writers_check (const struct stat *st, struct error *error);

#endif /* BLKSUM_WRITERS_H */
