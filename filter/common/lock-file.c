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

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include "../lib/common/same-file.h"
#include "common/config-files.h"
#include "common/lock-file.h"

#define MAX_TRIES 10

/* Open the lock file.  Refuse anything that an earlier server cannot have
 * created.
 */
static int
open_lock (const struct lock_file *lock, const char *param)
{
  int fd = open (lock->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
                 O_NOCTTY | O_NONBLOCK, 0600);
  struct stat st;

  if (fd == -1 || fstat (fd, &st) == -1)
    nbdkit_error ("%s: cannot create the lock file %s: %m", param, lock->path);
  else if (!S_ISREG (st.st_mode) || st.st_size > 0)
    nbdkit_error ("%s: %s is not an empty file, so it is not a lock file of "
                  "this filter", param, lock->path);
  else
    return fd;
  if (fd != -1)
    close (fd);
  return -1;
}

/* Returns 1 if the lock file's path still names the locked file, 0 if not, or
 * -1 with errno set.
 */
static int
has_name (const struct lock_file *lock)
{
  struct stat a, b;

  if (fstat (lock->fd, &a) == -1)
    return -1;
  if (lstat (lock->path, &b) == -1)
    return errno == ENOENT ? 0 : -1;
  return same_file (&a, &b);
}

/* Returns 0, or -1 after nbdkit_error if another server has locked the file.
 * If the file system has no locks, that is not an error.
 */
static int
lock_fd (const struct lock_file *lock, const char *param, const char *path)
{
  if (flock (lock->fd, LOCK_EX | LOCK_NB) == 0)
    return 0;
  if (errno == EWOULDBLOCK) {
    nbdkit_error ("%s: %s is in use by another nbdkit, which has locked %s",
                  param, path, lock->path);
    return -1;
  }
  nbdkit_debug ("%s: cannot lock %s: %s", param, lock->path,
                strerror (errno));
  return 0;
}

/* Returns 1 if the file was locked, 0 if the previous holder has removed the
 * lock file, or -1 after nbdkit_error.
 */
static int
try_lock (struct lock_file *lock, const char *param, const char *path)
{
  int r;

  lock->fd = open_lock (lock, param);
  if (lock->fd == -1)
    return -1;
  r = lock_fd (lock, param, path);
  if (r == 0) {
    r = has_name (lock);
    if (r == 1)
      return 1;
    if (r == -1)
      nbdkit_error ("%s: cannot use the lock file %s: %m", param, lock->path);
  }
  close (lock->fd);
  return r;
}

static int
open_and_lock (struct lock_file *lock, const char *param, const char *path)
{
  unsigned tries;
  int r = 0;

  for (tries = 0; r == 0 && tries < MAX_TRIES; tries++)
    r = try_lock (lock, param, path);
  if (r == 0)
    nbdkit_error ("%s: cannot use the lock file %s: each time it was locked, "
                  "the file of this name did not exist or had another inode "
                  "number", param, lock->path);
  return r == 1 ? 0 : -1;
}

int
lock_file_lock (struct lock_file *lock, const char *param, const char *path)
{
  if (asprintf (&lock->path, "%s.blkhash-lock", path) == -1) {
    lock->path = NULL;
    nbdkit_error ("%s: %m", param);
    return -1;
  }
  if (config_files_check (param, lock->path) == 0 &&
      open_and_lock (lock, param, path) == 0)
    return 0;
  free (lock->path);
  lock->path = NULL;
  return -1;
}

void
lock_file_unlock (struct lock_file *lock)
{
  if (!lock->path)
    return;
  if (has_name (lock) == 1)
    unlink (lock->path);
  close (lock->fd);
  free (lock->path);
  lock->path = NULL;
}
