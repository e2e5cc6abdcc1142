/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A file that appears under its name when it is complete.
 *
 * Until then it has no name, where the file system can do that: blksum dies of
 * signals at once, and leaves nothing behind.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/new-file.h"
#include "util/error.h"

#define MODE 0600

static void
print_fd_name (char name[32], int fd)
{
  snprintf (name, 32, "/proc/self/fd/%d", fd);
}

/* A file without a name, to which one can be given later.  -1 if this is not
 * possible here.
 */
static int
open_nameless (const char *path)
{
#ifdef O_TMPFILE
  char *copy = strdup (path), name[32];
  int fd;

  if (!copy)
    return -1;
  fd = open (dirname (copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, MODE);
  free (copy);
  if (fd == -1)
    return -1;
  print_fd_name (name, fd);
  if (access (name, F_OK) == 0)
    return fd;
  close (fd);                   /* no /proc */
#else
  (void) path;
#endif
  return -1;
}

/* What a symbolic link points to is replaced, not the link. */
static char *
resolve (const char *path)
{
  char *real = realpath (path, NULL);

  return real || errno != ENOENT ? real : strdup (path);
}

int
new_file_open (struct new_file *file, const char *path, struct error *error)
{
  *file = (struct new_file) { .fd = -1, .path = resolve (path) };
  if (!file->path ||
      asprintf (&file->temporary, "%s.%ld.new", file->path,
                (long) getpid ()) == -1)
    file->temporary = NULL;
  else {
    unlink (file->temporary);   /* of a blksum that was killed */
    file->fd = open_nameless (file->path);
    if (file->fd == -1) {
      file->fd = open (file->temporary,
                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
      file->named = file->fd != -1;
    }
  }
  if (file->fd != -1)
    return 0;
  error_errno (error, errno, "cannot make the file %s", path);
  new_file_close (file);
  return -1;
}

static int
give_name (struct new_file *file)
{
  char name[32];

  if (file->named)
    return 0;
  print_fd_name (name, file->fd);
  if (linkat (AT_FDCWD, name, AT_FDCWD, file->temporary,
              AT_SYMLINK_FOLLOW) == -1)
    return -1;
  file->named = true;
  return 0;
}

int
new_file_publish (struct new_file *file, struct error *error)
{
  if (fsync (file->fd) == -1 || give_name (file) == -1 ||
      rename (file->temporary, file->path) == -1)
    return error_errno (error, errno, "cannot make the file %s", file->path);
  file->named = false;
  return 0;
}

void
new_file_close (struct new_file *file)
{
  if (file->named)
    unlink (file->temporary);
  if (file->fd != -1)
    close (file->fd);
  free (file->temporary);
  free (file->path);
}
