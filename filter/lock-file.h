/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The lock of a file that is replaced, which is another file beside it.
 */

#ifndef NBDKIT_BLKHASH_LOCK_FILE_H
#define NBDKIT_BLKHASH_LOCK_FILE_H

/* Zero-initialised it is no lock. */
struct lock_file {
  char *path;                   /* NULL: not locked */
  int fd;
};

/* Lock PATH, the file of the parameter PARAM, until lock_file_unlock or the end
 * of this process and of those that it forks.  0, or -1 with an error told to
 * nbdkit.
 */
int lock_file_lock (struct lock_file *lock, const char *param,
                    const char *path);

/* Also of one that is not locked. */
void lock_file_unlock (struct lock_file *lock);

#endif /* NBDKIT_BLKHASH_LOCK_FILE_H */
