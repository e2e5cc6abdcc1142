/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A lock for a file that is replaced by rename: the lock is on another file
 * beside it.
 */

#ifndef NBDKIT_BLKHASH_LOCK_FILE_H
#define NBDKIT_BLKHASH_LOCK_FILE_H

/* If all members are zero, the file is not locked. */
struct lock_file {
  char *path;                   /* NULL if not locked */
  int fd;
};

/* Lock PATH, the file of the parameter PARAM, until lock_file_unlock or the end
 * of this process and its children.  Returns 0, or -1 after nbdkit_error.
 */
int lock_file_lock (struct lock_file *lock, const char *param,
                    const char *path);

/* Does nothing if it is not locked. */
void lock_file_unlock (struct lock_file *lock);

#endif /* NBDKIT_BLKHASH_LOCK_FILE_H */
