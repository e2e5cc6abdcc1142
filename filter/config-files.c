/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The files that parameters name.
 *
 * A filter cannot know which parameters of the plugin and of other filters are
 * paths, so it treats each value as a path.  Files are compared by device and
 * inode and not by name, because a link to the disk is also the disk.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "config-files.h"

struct config_file {
  struct config_file *next;
  char *path;                   /* absolute */
  char key[];
};

/* Changed only in .config and in .unload. */
static struct config_file *files;

int
config_files_add (const char *key, const char *value)
{
  struct config_file *file;

  if (*value == '\0')
    return 0;
  file = malloc (sizeof *file + strlen (key) + 1);
  if (!file) {
    nbdkit_error ("%s: %m", key);
    return -1;
  }
  strcpy (file->key, key);
  file->path = nbdkit_absolute_path (value);
  if (!file->path) {
    free (file);
    return -1;
  }
  file->next = files;
  files = file;
  return 0;
}

int
config_files_parse (const char *key, const char *value, const char **result)
{
  char *path = nbdkit_absolute_path (value);

  if (!path)
    return -1;
  if (config_files_add (key, path) == -1) {
    free (path);
    return -1;
  }
  *result = nbdkit_strdup_intern (path);
  free (path);
  return *result ? 1 : -1;
}

/* Device nodes of the same device are the same file. */
static bool
is_same_file (const struct stat *a, const struct stat *b)
{
  return (a->st_dev == b->st_dev && a->st_ino == b->st_ino) ||
    (S_ISBLK (a->st_mode) && S_ISBLK (b->st_mode) &&
     a->st_rdev == b->st_rdev);
}

int
config_files_check (const char *param, const char *path)
{
  const struct config_file *file;
  struct stat a, b;

  if (stat (path, &a) == -1)
    return 0;
  for (file = files; file; file = file->next)
    if (strcmp (file->key, param) != 0 && stat (file->path, &b) == 0 &&
        is_same_file (&a, &b)) {
      nbdkit_error ("%s and %s are the same file: %s", param, file->key, path);
      return -1;
    }
  return 0;
}

/* Is PATH a block device that is mounted, or that another program or driver has
 * for itself?
 */
static bool
is_busy_device (const char *path)
{
  struct stat st;
  int fd;

  if (stat (path, &st) == -1 || !S_ISBLK (st.st_mode))
    return false;
  fd = open (path, O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK);
  if (fd == -1)
    return errno == EBUSY;
  close (fd);
  return false;
}

int
config_files_check_devices (const char *param)
{
  const struct config_file *file;

  for (file = files; file; file = file->next)
    if (strncmp (file->key, "blkhash-", 8) != 0 &&
        is_busy_device (file->path)) {
      nbdkit_error ("%s: %s is in use, for instance mounted", param,
                    file->path);
      return -1;
    }
  return 0;
}

void
config_files_free (void)
{
  while (files) {
    struct config_file *file = files;

    files = file->next;
    free (file->path);
    free (file);
  }
}
