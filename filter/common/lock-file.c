/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A lock for a file that is replaced by rename.  See lock-file.h.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
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

enum lock_result {
  LOCK_TAKEN,
  LOCK_REMOVED,                 /* the previous holder has removed the file */
  LOCK_FAILED
};

/* Does the lock file's path still name the locked file?  errno is set with
 * LOCK_FAILED.
 */
static enum lock_result
check_name (const struct lock_file *lock)
{
  struct stat a, b;

  if (fstat (lock->fd, &a) == -1)
    return LOCK_FAILED;
  if (lstat (lock->path, &b) == -1)
    return errno == ENOENT ? LOCK_REMOVED : LOCK_FAILED;
  return same_file (&a, &b) ? LOCK_TAKEN : LOCK_REMOVED;
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

/* LOCK_FAILED is returned after nbdkit_error. */
static enum lock_result
try_lock (struct lock_file *lock, const char *param, const char *path)
{
  enum lock_result r = LOCK_FAILED;

  lock->fd = open_lock (lock, param);
  if (lock->fd == -1)
    return LOCK_FAILED;
  if (lock_fd (lock, param, path) == 0) {
    r = check_name (lock);
    if (r == LOCK_FAILED)
      nbdkit_error ("%s: cannot use the lock file %s: %m", param, lock->path);
  }
  if (r != LOCK_TAKEN)
    close (lock->fd);
  return r;
}

static int
open_and_lock (struct lock_file *lock, const char *param, const char *path)
{
  enum lock_result r = LOCK_REMOVED;
  unsigned tries;

  for (tries = 0; r == LOCK_REMOVED && tries < MAX_TRIES; tries++)
    r = try_lock (lock, param, path);
  if (r == LOCK_REMOVED)
    nbdkit_error ("%s: cannot use the lock file %s: each time it was locked, "
                  "the file of this name did not exist or had another inode "
                  "number", param, lock->path);
  return r == LOCK_TAKEN ? 0 : -1;
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
  if (check_name (lock) == LOCK_TAKEN)
    unlink (lock->path);
  close (lock->fd);
  free (lock->path);
  lock->path = NULL;
}
