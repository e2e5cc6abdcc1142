/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An output file.  Each new version atomically replaces the previous one.
 *
 * A new version is written to a new file in the same directory, and the new
 * file is renamed over the old one.  So a reader sees either the old version or
 * the new one.  The new file is synced before it is renamed, so a crash leaves
 * the old or the new version, and not a part of one, which the next server
 * would not recognize.  With SYNC, the directory is synced after the rename: a
 * later crash leaves the new version.
 *
 * If any of these steps fails, the old content must not remain: the file is
 * truncated in place and synced, or removed if that fails too.  If the
 * directory could not be synced, the path could refer to the old inode again
 * after a crash, so the old inode is truncated too.
 *
 * At the start, an existing file that an earlier server wrote is emptied and
 * synced, or kept (see output_file_keep).  Any other file may be valuable, such
 * as the disk itself: then the start fails and changes nothing.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "config-files.h"
#include "output-file.h"

/* Keep the directory open, because it is synced later, when nbdkit may run as a
 * different user that cannot open it.
 */
static int
open_directory (struct output_file *file)
{
  char *copy = strdup (file->path);

  if (copy)
    file->directory = open (dirname (copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file->directory == -1)
    nbdkit_error ("%s: %s: cannot open its directory: %m", file->param,
                  file->path);
  free (copy);
  return file->directory == -1 ? -1 : 0;
}

/* Some file systems cannot sync a directory, which is not an error. */
static int
sync_directory (const struct output_file *file)
{
  if (fsync (file->directory) == 0 || errno == EINVAL || errno == ENOTSUP)
    return 0;
  return -1;
}

/* ---- At the start ---- */

/* Create the file, or the target of a symbolic link, if it does not exist. */
static int
make (struct output_file *file, const char *path)
{
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  mode_t mode = file->mode ? file->mode : 0666;
  int fd = open (path, flags | O_EXCL, mode);
  struct stat st;

  file->made = fd != -1;
  if (fd == -1 && errno == EEXIST)
    fd = open (path, flags, mode);
  if (fd == -1 || fstat (fd, &st) == -1) {
    nbdkit_error ("%s: %s: %m", file->param, path);
    if (fd != -1)
      close (fd);
    return -1;
  }
  close (fd);
  if (!S_ISREG (st.st_mode)) {
    nbdkit_error ("%s: %s: not a regular file", file->param, path);
    return -1;
  }
  if (!file->mode)
    file->mode = st.st_mode & 0777;
  return 0;
}

static int
set_new_path (struct output_file *file)
{
  if (asprintf (&file->new_path, "%s.blkhash-new", file->path) != -1)
    return 0;
  file->new_path = NULL;
  nbdkit_error ("%s: %m", file->param);
  return -1;
}

/* Check that an earlier server may have written the content of the file.
 * Returns 0, or -1 after nbdkit_error.
 */
static int
examine (struct output_file *file)
{
  char why[OUTPUT_FILE_MAX_WHY] = "";
  struct stat st;
  int ours = 0;

  file->old = open (file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY |
                    O_NONBLOCK);
  if (file->old == -1 || fstat (file->old, &st) == -1) {
    nbdkit_error ("%s: %s: %m", file->param, file->path);
    return -1;
  }
  if (S_ISREG (st.st_mode))
    ours = st.st_size == 0 ? 1 : file->is_ours (file->old, why);
  if (ours == 0)
    nbdkit_error ("%s: %s exists and is not %s: it is not replaced; remove it "
                  "if it is not needed", file->param, file->path, file->what);
  else if (ours == -1)
    nbdkit_error ("%s: cannot check that %s is %s: %s", file->param,
                  file->path, file->what, *why ? why : strerror (errno));
  return ours == 1 ? 0 : -1;
}

int
output_file_open (struct output_file *file, const char *path)
{
  if (make (file, path) == -1)
    return -1;
  /* Replace the target of a symbolic link, not the link. */
  file->path = nbdkit_realpath (path);
  file->directory = file->old = -1;
  if (!file->path)
    return -1;
  /* Lock the file before the checks below: if one fails, output_file_stop must
   * remove a new file, which it does only with the lock.
   */
  return lock_file_lock (&file->lock, file->param, file->path) == -1 ||
    config_files_check (file->param, file->path) == -1 ||
    set_new_path (file) == -1 || open_directory (file) == -1 ||
    examine (file) == -1 ? -1 : 0;
}

void
output_file_keep (struct output_file *file)
{
  close (file->old);
  file->old = -1;
  file->made = false;
  file->kept = true;
}

int
output_file_empty (struct output_file *file)
{
  int r;

  if (!file->path)
    return 0;
  /* After a crash, the content of an earlier server must not come back, and
   * the path must not refer again to an earlier file that was removed.
   */
  r = ftruncate (file->old, 0) == -1 || fsync (file->old) == -1 ||
    sync_directory (file) == -1 ? -1 : 0;
  if (r == -1)
    nbdkit_error ("%s: cannot empty %s: %m", file->param, file->path);
  output_file_keep (file);
  file->kept = false;
  return r;
}

int
output_file_remove_leftover (const char *path)
{
  struct stat st;

  if (lstat (path, &st) == -1)
    return errno == ENOENT ? 0 : -1;
  if (!S_ISREG (st.st_mode)) {
    errno = EEXIST;
    return -1;
  }
  return unlink (path);
}

static int
open_new (const struct output_file *file)
{
  if (output_file_remove_leftover (file->new_path) == -1)
    return -1;
  return open (file->new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
               file->mode);
}

/* In a directory with the sticky bit, a file of another user cannot be replaced
 * or removed.  So check that the file can at least be truncated.  Returns 0, or
 * -1 after nbdkit_error.
 */
static int
check_kept (const struct output_file *file)
{
  if (access (file->path, W_OK) == 0)
    return 0;
  nbdkit_error ("%s: cannot write %s: %m", file->param, file->path);
  return -1;
}

int
output_file_check (const struct output_file *file)
{
  int fd;

  if (!file->path)
    return 0;
  if (config_files_check (file->param, file->new_path) == -1)
    return -1;
  fd = open_new (file);
  if (fd == -1) {
    nbdkit_error ("%s: cannot create %s, which replaces the file: %m",
                  file->param, file->new_path);
    return -1;
  }
  close (fd);
  unlink (file->new_path);
  return file->kept ? check_kept (file) : 0;
}

void
output_file_stop (struct output_file *file)
{
  if (!file->path)
    return;
  /* Without the lock, the file could belong to another server by now. */
  if (file->made && file->lock.path)
    unlink (file->path);
  if (file->directory != -1)
    close (file->directory);
  if (file->old != -1)
    close (file->old);
  lock_file_unlock (&file->lock);
  free (file->path);
  free (file->new_path);
  file->path = file->new_path = NULL;
}

/* ---- Writing ---- */

int
output_file_write_at (int fd, off_t offset, const char *text, size_t len)
{
  ssize_t n;

  for (; len > 0; text += n, len -= n, offset += n) {
    n = pwrite (fd, text, len, offset);
    if (n == -1)
      return -1;
  }
  return 0;
}

/* Write TEXT to FD, sync it and close it. */
static int
write_text (int fd, const char *text)
{
  int r = output_file_write_at (fd, 0, text, strlen (text)), err;

  if (r == 0)
    r = fsync (fd);
  err = errno;
  if (close (fd) == -1 && r == 0)
    return -1;
  errno = err;
  return r;
}

/* The directory could not be synced, so after a crash the path could refer to
 * the replaced file again, whose descriptor is OLD.  Truncate that file.  If
 * this fails, remove the new file from the path; then output_file_written syncs
 * the directory again.
 */
static void
empty_old (const struct output_file *file, int old)
{
  if (old == -1 || ftruncate (old, 0) == -1 || fsync (old) == -1)
    unlink (file->path);
}

/* Rename FROM over the file.  FROM is removed if the rename fails. */
static int
move_over (const struct output_file *file, const char *from, bool sync)
{
  int old = open (file->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  int r = 0;

  if (rename (from, file->path) == -1) {
    r = errno;
    unlink (from);
  }
  else if (sync && sync_directory (file) == -1) {
    r = errno;
    empty_old (file, old);
  }
  if (old != -1)
    close (old);
  errno = r;
  return r ? -1 : 0;
}

static int
replace_file (struct output_file *file, const char *text, bool sync)
{
  int fd = open_new (file), err;
  struct stat st;

  if (fd == -1)
    return -1;
  if (fstat (fd, &st) == 0) {
    file->dev = st.st_dev;
    file->ino = st.st_ino;
  }
  if (write_text (fd, text) == 0)
    return move_over (file, file->new_path, sync);
  err = errno;
  unlink (file->new_path);
  errno = err;
  return -1;
}

/* Truncate the file in place.  The file may already have been removed. */
static int
truncate_file (const struct output_file *file)
{
  int fd = open (file->path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW |
                 O_NONBLOCK);
  int r = fd == -1 ? -1 : fsync (fd);

  if (fd != -1)
    close (fd);
  return r;
}

static int
remove_file (const struct output_file *file)
{
  return unlink (file->path) == -1 && errno != ENOENT ? -1
                                                      : sync_directory (file);
}

void
output_file_written (struct output_file *file, int r)
{
  file->failed = r == -1;
  if (r == 0)
    return;
  nbdkit_error ("%s: cannot write %s: %m", file->param, file->path);
  if (truncate_file (file) == -1 && remove_file (file) == -1)
    nbdkit_error ("%s: cannot remove %s, it may be wrong now: %m",
                  file->param, file->path);
}

void
output_file_write (struct output_file *file, const char *text, bool sync)
{
  int r = text ? replace_file (file, text, sync || file->failed) : -1;

  if (!text)
    errno = ENOMEM;
  output_file_written (file, r);
}

void
output_file_move (struct output_file *file, const char *from)
{
  output_file_written (file, move_over (file, from, true));
}

int
output_file_reopen (const struct output_file *file, off_t size)
{
  int fd = open (file->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY |
                 O_NONBLOCK);
  struct stat st;

  if (fd == -1)
    return -1;
  if (!file->failed && fstat (fd, &st) == 0 && st.st_dev == file->dev &&
      st.st_ino == file->ino && st.st_size == size)
    return fd;
  close (fd);
  return -1;
}
