/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A file on the disk that is replaced at once.
 *
 * Each new state is a new file beside it that is moved over it, so that a
 * reader sees one state or the next.  The new file is synced, moved, and then
 * the directory is synced: before that a crash leaves the old file or the new
 * one, after it only the new one.
 *
 * If any of that fails the old content must go all the same: the file is
 * emptied in place and synced, and if even that fails removed.  Was it the
 * directory that could not be synced, the old file, whose name could come back,
 * is emptied too.  What an earlier server left is emptied and synced at the
 * start.
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

#include "output-file.h"

/* Keep the directory open: it must be synced, by whatever user. */
static int
open_directory (struct output_file *file)
{
  char *copy = strdup (file->path);

  if (!copy) {
    nbdkit_error ("blkhash: %m");
    return -1;
  }
  file->directory = open (dirname (copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file->directory == -1)
    nbdkit_error ("%s: %s: cannot open its directory: %m", file->param,
                  file->path);
  free (copy);
  return file->directory == -1 ? -1 : 0;
}

/* Not all file systems can sync a directory, or have to. */
static int
sync_directory (const struct output_file *file)
{
  if (fsync (file->directory) == 0 || errno == EINVAL || errno == ENOTSUP)
    return 0;
  return -1;
}

/* Make it, or empty it. */
static int
make_empty (struct output_file *file, const char *path)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY |
                 O_NONBLOCK, file->mode ? file->mode : 0666);
  struct stat st;

  /* What an earlier server said must not come back after a crash. */
  if (fd == -1 || fstat (fd, &st) == -1 ||
      (S_ISREG (st.st_mode) && fsync (fd) == -1)) {
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

int
output_file_start (struct output_file *file, const char *path)
{
  if (make_empty (file, path) == -1)
    return -1;
  /* Replace what a symbolic link points to, not the link. */
  file->path = nbdkit_realpath (path);
  file->directory = -1;
  if (!file->path)
    return -1;
  if (asprintf (&file->new_path, "%s.blkhash-new", file->path) == -1) {
    file->new_path = NULL;
    nbdkit_error ("blkhash: %m");
    return -1;
  }
  if (open_directory (file) == -1)
    return -1;
  /* Nor must the name of an earlier file that somebody removed. */
  if (sync_directory (file) == -1) {
    nbdkit_error ("%s: %s: cannot sync its directory: %m", file->param,
                  file->path);
    return -1;
  }
  return output_file_check (file);
}

static int
open_new (const struct output_file *file)
{
  unlink (file->new_path);      /* of a server that was killed */
  return open (file->new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
               file->mode);
}

int
output_file_check (const struct output_file *file)
{
  int fd;

  if (!file->path)
    return 0;
  fd = open_new (file);
  if (fd == -1) {
    nbdkit_error ("%s: cannot make %s, to replace the file with: %m",
                  file->param, file->new_path);
    return -1;
  }
  close (fd);
  unlink (file->new_path);
  return 0;
}

bool
output_file_is_path (const struct output_file *file, const char *path)
{
  struct stat a, b;

  return file->path && stat (file->path, &a) == 0 && stat (path, &b) == 0 &&
    a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void
output_file_stop (struct output_file *file)
{
  if (file->path && file->directory != -1)
    close (file->directory);
  free (file->path);
  free (file->new_path);
}

/* ---- Writing ---- */

static int
write_text (int fd, const char *text, bool sync)
{
  FILE *out = fdopen (fd, "w");

  if (!out) {
    close (fd);
    return -1;
  }
  if (fputs (text, out) == EOF || fflush (out) == EOF ||
      (sync && fsync (fd) == -1)) {
    int err = errno;

    fclose (out);
    errno = err;
    return -1;
  }
  return fclose (out) == EOF ? -1 : 0;
}

/* The directory was not synced: what was in OLD could come back under its name.
 * If it cannot be emptied it can only be tried again to sync the directory,
 * without the file.
 */
static void
empty_old (const struct output_file *file, int old)
{
  if (old == -1 || ftruncate (old, 0) == -1 || fsync (old) == -1)
    unlink (file->path);
}

/* FROM, which is removed if that fails. */
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
replace_file (const struct output_file *file, const char *text, bool sync)
{
  int fd = open_new (file), err;

  if (fd == -1)
    return -1;
  if (write_text (fd, text, sync) == 0)
    return move_over (file, file->new_path, sync);
  err = errno;
  unlink (file->new_path);
  errno = err;
  return -1;
}

/* In place.  It may be gone already. */
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

/* It was replaced, or that failed: R is 0 or -1, with errno. */
static void
replaced (struct output_file *file, int r)
{
  file->failed = r == -1;
  if (r == 0)
    return;
  nbdkit_error ("blkhash: cannot write %s: %m", file->path);
  if (truncate_file (file) == -1 && remove_file (file) == -1)
    nbdkit_error ("blkhash: cannot remove %s, it may be wrong now: %m",
                  file->path);
}

void
output_file_write (struct output_file *file, const char *text, bool sync)
{
  if (text)
    replaced (file, replace_file (file, text, sync || file->failed));
  else {
    errno = ENOMEM;
    replaced (file, -1);
  }
}

void
output_file_move (struct output_file *file, const char *from)
{
  replaced (file, move_over (file, from, true));
}
