/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "io/file.h"
#include "io/files.h"
#include "io/prefetch.h"

/* The tables of a file that is read with direct I/O are prefetched, unless
 * there is no memory for that.
 */
static void
set_prefetch (struct files *files, struct file *file)
{
  if (!file->direct)
    return;
  if (!files->prefetch)
    files->prefetch = prefetch_new ();
  file->prefetch = files->prefetch;
}

static struct file *
add_file (struct files *files, int fd, const char *path, bool named,
          struct error *error)
{
  struct file *file = file_new (fd, path, named, files->force_share,
                                files->cache, error);
  struct file **end = &files->first;

  if (!file)
    return NULL;
  while (*end)
    end = &(*end)->next;
  set_prefetch (files, file);
  return *end = file;
}

struct file *
files_adopt (struct files *files, int fd, const char *path,
             struct error *error)
{
  return add_file (files, fd, path, false, error);
}

static struct file *
find_file (const struct files *files, const char *path)
{
  struct file *file;

  for (file = files->first; file; file = file->next)
    if (file->named && strcmp (file->path, path) == 0)
      return file;
  return NULL;
}

struct file *
files_open (struct files *files, const char *what, const char *path,
            struct error *error)
{
  struct file *file = find_file (files, path);
  struct stat st;
  int fd;

  if (file)
    return file;
  /* O_NONBLOCK, because otherwise the open of a pipe would wait for a writer.
   */
  fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd == -1) {
    error_errno (error, errno, "cannot open %s '%s'", what, path);
    return NULL;
  }
  if (fstat (fd, &st) == 0 && (S_ISREG (st.st_mode) || S_ISBLK (st.st_mode)))
    return add_file (files, fd, path, true, error);
  error_set (error, "%s '%s' is not a file or block device", what, path);
  close (fd);
  return NULL;
}

void
files_start_reading (struct files *files)
{
  struct file *file;

  for (file = files->first; file && !files->cache; file = file->next)
    file_avoid_cache (file);
}

bool
files_support_direct (const struct files *files)
{
  const struct file *file = files->first;

  while (file && file_supports_direct (file))
    file = file->next;
  return !file;
}

int
files_check_unchanged (const struct files *files, struct error *error)
{
  const struct file *file;

  for (file = files->first; file; file = file->next)
    if (file_check_unchanged (file, files->force_share, error) == -1)
      return -1;
  return 0;
}

void
files_close (struct files *files)
{
  struct file *file;

  prefetch_free (files->prefetch);
  files->prefetch = NULL;
  while ((file = files->first)) {
    files->first = file->next;
    file_free (file);
  }
}
