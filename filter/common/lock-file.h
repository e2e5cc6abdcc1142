/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A lock for a file that is replaced by rename.
 *
 * A lock on the file itself would be lost with the old inode.  So an empty file
 * beside it, PATH.blkhash-lock, is locked.  The server that holds the lock
 * removes this file when it unlocks.  Another server can open the lock file
 * before the removal, and lock it after the removal.  That server then finds
 * that PATH.blkhash-lock is not the file that it locked, and retries.  On some
 * file systems lstat and fstat return different inode numbers for one file, so
 * each try looks like that.  So the number of tries is limited.
 *
 * The lock is taken with flock(2).  It belongs to the open file description and
 * not to the process, so it survives the fork into the background.  If the file
 * system has no locks, a second server is not detected.
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
