/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A lock for a file that is replaced by rename.  What is locked is another
 * file, the lock file, in the same directory.
 */

#ifndef NBDKIT_BLKHASH_LOCK_FILE_H
#define NBDKIT_BLKHASH_LOCK_FILE_H

/* If all members are zero, there is no lock. */
struct lock_file {
  char *path;                   /* of the lock file; NULL if there is no lock */
  int fd;                       /* of the lock file */
};

/* Lock PATH, the file that the parameter PARAM names, until lock_file_unlock or
 * the end of this process and its children.  Returns 0, or -1 after
 * nbdkit_error.  If the file system has no locks, that is not an error.
 */
int lock_file_lock (struct lock_file *lock, const char *param,
                    const char *path);

/* Unlock, and remove the lock file.  Does nothing if there is no lock. */
void lock_file_unlock (struct lock_file *lock);

#endif /* NBDKIT_BLKHASH_LOCK_FILE_H */
