/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What another process has open.
 */

#ifndef BLKSUM_OPEN_FILES_H
#define BLKSUM_OPEN_FILES_H

#include <sys/stat.h>
#include <sys/types.h>

/* No descriptor of a process that has called open_files_limit, and then exec
 * with nothing higher open, is as high as this.
 */
#define OPEN_FILES_MAX 256

/* Of this process.  0, or -1 with errno set.  Async-signal-safe. */
int open_files_limit (void);

/* Call VISIT for all that PID, a child that is bounded, has open.  0, or -1
 * with errno set if that cannot be told.
 */
int open_files_visit (pid_t pid,
                      void (*visit) (void *opaque, const struct stat *st),
                      void *opaque);

#endif /* BLKSUM_OPEN_FILES_H */
