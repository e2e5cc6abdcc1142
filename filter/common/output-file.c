/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An output file.  See output-file.h.
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

#include <nbdkit-filter.h>

#include "../lib/common/same-file.h"
#include "common/config-files.h"
#include "common/output-file.h"

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

/* ---- Is a file ours? ---- */

/* Returns true if the file at PATH, which ST describes, is the last version. */
static bool
is_current (const struct output_file *file, const struct stat *st)
{
  return file->current != -1 && same_file (&file->st, st);
}

/* Open the file at PATH for writing, if it is the last version, or if an
 * earlier server may have written its content.  Returns its descriptor, which
 * can be that of the last version: see close_ours.  Otherwise returns -1 with
 * errno, which is EEXIST if the file is not ours, and perhaps a reason in WHY.
 */
static int
open_ours (const struct output_file *file, const char *path, char *why)
{
  enum file_origin origin = FILE_FOREIGN;
  struct stat st;
  int fd, err;

  *why = '\0';
  if (lstat (path, &st) == -1)
    return -1;
  if (is_current (file, &st))
    return file->current;
  if (!S_ISREG (st.st_mode)) {
    errno = EEXIST;
    return -1;
  }
  fd = open (path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
  if (fd == -1)
    return -1;
  if (fstat (fd, &st) == -1)
    origin = FILE_UNEXAMINED;
  else if (S_ISREG (st.st_mode))
    origin = st.st_size == 0 ? FILE_OURS : file->examine (fd, why);
  if (origin == FILE_OURS)
    return fd;
  err = origin == FILE_FOREIGN ? EEXIST : errno;
  close (fd);
  errno = err;
  return -1;
}

static void
close_ours (const struct output_file *file, int fd)
{
  if (fd != -1 && fd != file->current)
    close (fd);
}

/* Report why open_ours failed. */
static void
report_not_ours (const struct output_file *file, const char *path,
                 const char *why)
{
  if (errno == EEXIST)
    nbdkit_error ("%s: %s exists and is not %s: it is not replaced; remove it "
                  "if it is not needed", file->param, path, file->what);
  else
    nbdkit_error ("%s: cannot check that %s is %s: %s", file->param, path,
                  file->what, *why ? why : strerror (errno));
}

/* FD, which ST describes, is the last version from now on. */
static void
set_current (struct output_file *file, int fd, const struct stat *st)
{
  if (file->current != -1 && file->current != fd)
    close (file->current);
  file->current = fd;
  file->st = *st;
}

/* ---- At the start ---- */

/* Create the file, or the target of a symbolic link, if it does not exist.
 * Returns 0, or -1 after nbdkit_error.
 */
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
  if (file->made)
    set_current (file, fd, &st);
  else
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
set_paths (struct output_file *file)
{
  if (asprintf (&file->new_path, "%s.blkhash-new", file->path) == -1)
    file->new_path = NULL;
  else if (asprintf (&file->old_path, "%s.blkhash-old", file->path) == -1)
    file->old_path = NULL;
  else
    return 0;
  nbdkit_error ("%s: %m", file->param);
  return -1;
}

/* Check that an earlier server may have written the content of the file.
 * Returns 0, or -1 after nbdkit_error.
 */
static int
examine (struct output_file *file)
{
  char why[OUTPUT_FILE_MAX_WHY];
  struct stat st;
  int fd = open_ours (file, file->path, why);

  if (fd != -1 && fstat (fd, &st) == 0) {
    set_current (file, fd, &st);
    return 0;
  }
  report_not_ours (file, file->path, why);
  close_ours (file, fd);
  return -1;
}

int
output_file_open (struct output_file *file, const char *path, bool create)
{
  struct stat st;

  if (!create && stat (path, &st) == -1 && errno == ENOENT)
    return 0;
  file->directory = file->current = -1;
  if (make (file, path) == -1)
    return -1;
  /* Replace the target of a symbolic link, not the link. */
  file->path = nbdkit_realpath (path);
  if (!file->path)
    return -1;
  /* Lock the file before the checks below: if one fails, output_file_stop must
   * remove a new file, which it does only with the lock.
   */
  return lock_file_lock (&file->lock, file->param, file->path) == -1 ||
    config_files_check (file->param, file->path) == -1 ||
    set_paths (file) == -1 || open_directory (file) == -1 ||
    examine (file) == -1 ? -1 : 0;
}

void
output_file_keep (struct output_file *file)
{
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
  r = ftruncate (file->current, 0) == -1 || fsync (file->current) == -1 ||
    replace_sync_directory (file->directory) == -1 ? -1 : 0;
  if (r == -1)
    nbdkit_error ("%s: cannot empty %s: %m", file->param, file->path);
  output_file_keep (file);
  file->kept = false;
  return r;
}

/* Remove what a killed server may have left at OLD_PATH: the version that it
 * replaced, or the new one.  Returns 0; or -1 with errno, after nbdkit_error,
 * for instance if a file is there that could not be put back.
 */
static int
remove_old (const struct output_file *file)
{
  char why[OUTPUT_FILE_MAX_WHY];
  int fd = open_ours (file, file->old_path, why), err;

  if (fd == -1 && errno == ENOENT)
    return 0;
  close_ours (file, fd);
  if (fd != -1 && unlink (file->old_path) == 0)
    return 0;
  err = errno;
  report_not_ours (file, file->old_path, why);
  errno = err;
  return -1;
}

struct replacement
output_file_new (const struct output_file *file, char *name)
{
  return (struct replacement) {
    .path = file->path, .name = name, .examined = file->old_path,
    .directory = file->directory, .mode = file->mode, .fd = -1
  };
}

static int
open_new (const struct output_file *file, struct replacement *new)
{
  *new = output_file_new (file, file->new_path);
  if (replacement_remove_leftover (file->new_path) == -1 ||
      remove_old (file) == -1)
    return -1;
  return replacement_open (new);
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
  struct replacement new;

  if (!file->path)
    return 0;
  if (config_files_check (file->param, file->new_path) == -1 ||
      config_files_check (file->param, file->old_path) == -1 ||
      remove_old (file) == -1)
    return -1;
  if (open_new (file, &new) == -1) {
    nbdkit_error ("%s: cannot create %s, which replaces the file: %m",
                  file->param, file->new_path);
    return -1;
  }
  replacement_close (&new);
  return file->kept ? check_kept (file) : 0;
}

void
output_file_stop (struct output_file *file)
{
  struct stat st;

  if (!file->path)
    return;
  /* Without the lock, the file could belong to another server by now. */
  if (file->made && file->lock.path && lstat (file->path, &st) == 0 &&
      is_current (file, &st))
    unlink (file->path);
  if (file->directory != -1)
    close (file->directory);
  if (file->current != -1)
    close (file->current);
  lock_file_unlock (&file->lock);
  free (file->path);
  free (file->new_path);
  free (file->old_path);
  file->path = file->new_path = file->old_path = NULL;
}

/* ---- Writing ---- */

/* Truncate FD, a file that is ours.  Returns 0, or -1 with errno. */
static int
truncate_ours (int fd)
{
  return ftruncate (fd, 0) == -1 ? -1 : fsync (fd);
}

/* Empty the file at the path, or remove it, if it is ours.  If another file is
 * there, or none, only sync the directory: a crash must not bring back ours.
 * Returns 0, or -1 with errno.
 */
static int
withdraw (const struct output_file *file)
{
  char why[OUTPUT_FILE_MAX_WHY];
  int fd = open_ours (file, file->path, why), err = errno, r;

  if (fd == -1 && (err == ENOENT || err == EEXIST))
    return replace_sync_directory (file->directory);
  if (fd == -1) {
    /* What is there is not known.  If it is the last version, empty that. */
    if (file->current != -1)
      truncate_ours (file->current);
    errno = err;
    return -1;
  }
  r = truncate_ours (fd);
  close_ours (file, fd);
  if (r == -1)
    r = unlink (file->path) == -1 && errno != ENOENT ? -1
      : replace_sync_directory (file->directory);
  return r;
}

static int
judge (void *opaque, const char *path)
{
  const struct output_file *file = opaque;
  char why[OUTPUT_FILE_MAX_WHY];
  int fd = open_ours (file, path, why), err = errno;

  if (fd == -1 && err != ENOENT)
    report_not_ours (file, file->path, why);
  errno = err;
  return fd;
}

/* The file was replaced by FD, but the directory could not be synced: after a
 * crash the path could refer to the replaced file again, whose descriptor is
 * OLD.  Truncate that file.  If this fails, remove the new file from the path;
 * then written syncs the directory again.
 */
static void
empty_old (const struct output_file *file, int old)
{
  if (old == -1 || truncate_ours (old) == -1)
    unlink (file->path);
}

/* Replace the file by NEW, which is closed.  Returns 0, or -1 with errno. */
static int
publish (struct output_file *file, struct replacement *new)
{
  int old = -1, err = EEXIST;
  struct stat st;
  enum replace_result r = fstat (new->fd, &st) == -1 ? REPLACE_FAILED
    : replacement_publish (new, judge, file, &old);

  switch (r) {
  case REPLACE_DONE:
    err = 0;
    break;
  case REPLACE_NOT_SYNCED:
    err = errno;
    empty_old (file, old);
    break;
  case REPLACE_FAILED:
    err = errno;
    break;
  case REPLACE_DISPLACED:
    nbdkit_error ("%s: the file that was at %s is at %s now", file->param,
                  file->path, file->old_path);
    break;
  case REPLACE_REFUSED:
    break;
  }
  close_ours (file, old);
  if (r == REPLACE_DONE || r == REPLACE_NOT_SYNCED) {
    set_current (file, new->fd, &st);
    new->fd = -1;
  }
  replacement_close (new);
  errno = err;
  return err ? -1 : 0;
}

static int
replace_text (struct output_file *file, const char *text)
{
  struct replacement new;

  if (open_new (file, &new) == -1)
    return -1;
  if (replacement_write (&new, text) == 0)
    return publish (file, &new);
  replacement_close (&new);
  return -1;
}

/* The write has ended with R: 0; or -1 with errno, which is reported, and then
 * the old content is withdrawn.
 */
static void
written (struct output_file *file, int r)
{
  if (r == 0)
    return;
  nbdkit_error ("%s: cannot write %s: %m", file->param, file->path);
  if (withdraw (file) == -1)
    nbdkit_error ("%s: cannot remove %s, it may be wrong now: %m",
                  file->param, file->path);
}

void
output_file_write (struct output_file *file, const char *text)
{
  int r = text ? replace_text (file, text) : -1;

  if (!text)
    errno = ENOMEM;
  written (file, r);
}

void
output_file_move (struct output_file *file, struct replacement *new)
{
  int r = remove_old (file) == -1 ? -1 : publish (file, new);

  replacement_close (new);
  written (file, r);
}
