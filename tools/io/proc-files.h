/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files that other processes have open for writing, by /proc.
 */

#ifndef BLKSUM_PROC_FILES_H
#define BLKSUM_PROC_FILES_H

#include <stddef.h>
#include <sys/types.h>

struct error;

struct proc_file {
  unsigned long pid;
  dev_t number;                 /* of a block device; otherwise 0 */
  dev_t dev;                    /* where it is, */
  ino_t ino;                    /* and its number there */
};

/* Call FUNCTION for each file that another process has open for writing, until it
 * does not return 0.  Returns what it returned last, or 0; or -1 with the reason if
 * /proc does not show all that it shows to this user, for which OWN_FD, a descriptor of
 * this process, is a sample.
 */
int proc_files_each (int own_fd,
                     int (*function) (void *opaque,
                                      const struct proc_file *file),
                     void *opaque, struct error *error);

/* Store the name of a process, or "?". */
void proc_name (unsigned long pid, char *name, size_t size);

#endif /* BLKSUM_PROC_FILES_H */
