/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file on the disk.
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
#include "params.h"

/* Set by result_file_start. */
static char *path, *new_path;   /* of the file, and of the one to replace it */
static int directory = -1;      /* in which they are */
static mode_t mode;             /* of the file */

/* Keep the directory open: it must be synced, by whatever user. */
static int
open_directory (void)
{
  char *copy = strdup (path);

  if (!copy) {
    nbdkit_error ("blkhash: %m");
    return -1;
  }
  directory = open (dirname (copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory == -1)
    nbdkit_error ("blkhash-file: %s: cannot open its directory: %m", path);
  free (copy);
  return directory == -1 ? -1 : 0;
}

/* Not all file systems can sync a directory, or have to. */
static int
sync_directory (void)
{
  return fsync (directory) == -1 && errno != EINVAL && errno != ENOTSUP ? -1
                                                                         : 0;
}

int
result_file_start (void)
{
  struct stat st;
  int fd;

  if (!params.file)
    return 0;
  fd = open (params.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY |
             O_NONBLOCK, 0666);
  /* What an earlier server said must not come back after a crash. */
  if (fd == -1 || fstat (fd, &st) == -1 ||
      (S_ISREG (st.st_mode) && fsync (fd) == -1)) {
    nbdkit_error ("blkhash-file: %s: %m", params.file);
    if (fd != -1)
      close (fd);
    return -1;
  }
  close (fd);
  if (!S_ISREG (st.st_mode)) {
    nbdkit_error ("blkhash-file: %s: not a regular file", params.file);
    return -1;
  }
  mode = st.st_mode & 0777;

  /* Replace what a symbolic link points to, not the link. */
  path = nbdkit_realpath (params.file);
  if (!path || asprintf (&new_path, "%s.blkhash-new", path) == -1 ||
      open_directory () == -1)
    return -1;
  /* Nor must the name of an earlier file that somebody removed. */
  if (sync_directory () == -1) {
    nbdkit_error ("blkhash-file: %s: cannot sync its directory: %m", path);
    return -1;
  }
  return result_file_check ();
}

static int
open_new (void)
{
  unlink (new_path);            /* of a server that was killed */
  return open (new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

int
result_file_check (void)
{
  int fd;

  if (!path)
    return 0;
  fd = open_new ();
  if (fd == -1) {
    nbdkit_error ("blkhash-file: cannot make %s, to replace the file with: "
                  "%m", new_path);
    return -1;
  }
  close (fd);
  unlink (new_path);
  return 0;
}

void
result_file_stop (void)
{
  free (path);
  free (new_path);
  if (directory != -1)
    close (directory);
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
empty_old (int old)
{
  if (old == -1 || ftruncate (old, 0) == -1 || fsync (old) == -1)
    unlink (path);
}

static int
replace_file (const char *text, bool sync)
{
  int fd = open_new (), old, r = 0;

  if (fd == -1)
    return -1;
  old = open (path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (write_text (fd, text, sync) == -1 || rename (new_path, path) == -1) {
    r = errno;
    unlink (new_path);
  }
  else if (sync && sync_directory () == -1) {
    r = errno;
    empty_old (old);
  }
  if (old != -1)
    close (old);
  errno = r;
  return r ? -1 : 0;
}

/* In place.  It may be gone already. */
static int
truncate_file (void)
{
  int fd = open (path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW |
                 O_NONBLOCK);
  int r = fd == -1 ? -1 : fsync (fd);

  if (fd != -1)
    close (fd);
  return r;
}

static int
remove_file (void)
{
  return unlink (path) == -1 && errno != ENOENT ? -1 : sync_directory ();
}

void
result_file_write (const char *text, bool sync)
{
  static bool failed;           /* then what it said may still be there */

  if (!text)
    errno = ENOMEM;
  else if (replace_file (text, sync || failed) == 0) {
    failed = false;
    return;
  }
  failed = true;
  nbdkit_error ("blkhash: cannot write %s: %m", path);
  if (truncate_file () == -1 && remove_file () == -1)
    nbdkit_error ("blkhash: cannot remove %s, it may be wrong now: %m", path);
}
