/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files that an image is made of.
 *
 * Changes are looked for at their paths and not through descriptors, because
 * qemu opens them by their paths.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/fileset.h"

struct fileset_file {
  struct fileset_file *next;
  int fd;                       /* keeps the locks */
  struct stat st;
  char path[];
};

static void
destroy_file (struct fileset_file *file)
{
  if (file->fd != -1)
    close (file->fd);
  free (file);
}

int
fileset_add (struct fileset *files, const char *path, int fd,
             struct error *error)
{
  size_t len = strlen (path) + 1;
  struct fileset_file *file = malloc (sizeof *file + len);

  if (!file)
    return error_errno (error, errno, "cannot read '%s'", path);
  file->fd = fcntl (fd, F_DUPFD_CLOEXEC, 0);
  if (file->fd == -1 || fstat (fd, &file->st) == -1) {
    error_errno (error, errno, "cannot read '%s'", path);
    destroy_file (file);
    return -1;
  }
  memcpy (file->path, path, len);
  file->next = files->first;
  files->first = file;
  return 0;
}

static bool
is_same_file (const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Of a device nothing tells whether it was written. */
static bool
is_same_state (const struct stat *a, const struct stat *b)
{
  if (S_ISBLK (a->st_mode))
    return a->st_rdev == b->st_rdev;
  return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
    a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool
fileset_has (const struct fileset *files, int fd)
{
  const struct fileset_file *file;
  struct stat now;

  if (fstat (fd, &now) == -1)
    return false;
  for (file = files->first; file; file = file->next)
    if (is_same_file (&file->st, &now) && is_same_state (&file->st, &now))
      return true;
  return false;
}

static int
check_file (const struct fileset_file *file, bool force_share,
            struct error *error)
{
  struct stat now;
  bool same = stat (file->path, &now) == 0 && is_same_file (&file->st, &now);

  if (same && now.st_size < file->st.st_size)
    return error_set (error, "'%s' was truncated while it was read",
                      file->path);
  if (!force_share && (!same || !is_same_state (&file->st, &now)))
    return error_set (error, "'%s' changed while it was read", file->path);
  return 0;
}

int
fileset_check_unchanged (const struct fileset *files, bool force_share,
                         struct error *error)
{
  const struct fileset_file *file;

  for (file = files->first; file; file = file->next)
    if (check_file (file, force_share, error) == -1)
      return -1;
  return 0;
}

void
fileset_destroy (struct fileset *files)
{
  struct fileset_file *file;

  while ((file = files->first)) {
    files->first = file->next;
    destroy_file (file);
  }
}
