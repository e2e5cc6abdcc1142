/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Find the files that other processes have open for writing, using /proc.
 */

#ifndef BLKSUM_PROC_FILES_H
#define BLKSUM_PROC_FILES_H

#include <stddef.h>
#include <sys/types.h>

struct error;

struct proc_file {
  unsigned long pid;
  dev_t number;                 /* of a block device, or 0 */
  dev_t dev;                    /* st_dev of the file */
  ino_t ino;                    /* st_ino of the file */
};

/* Call FUNCTION for each file that another process has open for writing, until
 * FUNCTION returns non-zero.  Returns the last return value of FUNCTION, or 0
 * if FUNCTION was not called.  Returns -1 with the reason in ERROR if /proc
 * cannot be read.  Processes that this user may not inspect are skipped; if
 * this user is root, they can be an error (see proc-files.c).  OWN_FD is any
 * open file descriptor of this process, used to check that /proc shows the
 * files of this process.
 */
int proc_files_each (int own_fd,
                     int (*function) (void *opaque,
                                      const struct proc_file *file),
                     void *opaque, struct error *error);

/* Store the name of process PID in NAME, or "?" if it cannot be read.  SIZE is
 * the size of NAME.
 */
void proc_name (unsigned long pid, char *name, size_t size);

#endif /* BLKSUM_PROC_FILES_H */
