/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files that another process has open.
 */

#ifndef BLKSUM_OPEN_FILES_H
#define BLKSUM_OPEN_FILES_H

#include <sys/stat.h>
#include <sys/types.h>

/* The descriptors of a program that is executed after a call of
 * open_files_limit are below this number, unless it inherited a higher one.
 */
#define OPEN_FILES_MAX 256

/* Limit the descriptors of this process.  Returns 0, or -1 with errno set.
 * Async-signal-safe.
 */
int open_files_limit (void);

/* Call VISIT for each file that PID, a child with this limit, has open.
 * Returns 0, or -1 with errno set if these files cannot be determined.
 */
int open_files_visit (pid_t pid,
                      void (*visit) (void *opaque, const struct stat *st),
                      void *opaque);

#endif /* BLKSUM_OPEN_FILES_H */
