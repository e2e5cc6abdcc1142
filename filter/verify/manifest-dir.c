/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The directory of blkhash-verify-manifest-dir: a manifest for each export.
 *
 * Clients choose the names, so a name must not lead out of the directory: it
 * must be one component of a path, and the manifest must not be a symbolic
 * link.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include "../lib/common/text.h"
#include "verify/manifest-dir.h"

static const char *directory;
static int directory_fd = -1;

int
manifest_dir_open (const char *path)
{
  directory = path;
  directory_fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory_fd != -1)
    return 0;
  nbdkit_error ("blkhash-verify-manifest-dir: %s: %m", path);
  return -1;
}

void
manifest_dir_close (void)
{
  if (directory_fd != -1)
    close (directory_fd);
  directory_fd = -1;
}

static bool
is_file_name (const char *name)
{
  return *name != '\0' && strcmp (name, ".") != 0 &&
    strcmp (name, "..") != 0 && !strchr (name, '/');
}

/* The name is printed as JSON, so that it cannot start another line of the log,
 * or control a terminal that shows the log.
 */
static int
refuse (const char *name, const char *why)
{
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream (&text, &size);

  if (out) {
    json_string (out, name);
    memstream_close (out, &text);
  }
  nbdkit_error ("blkhash-verify-manifest-dir: no export %s: %s",
                text ? text : "", why);
  free (text);
  return -1;
}

int
manifest_dir_open_file (const char *name, char **path)
{
  const char *file;
  int fd;

  if (!is_file_name (name))
    return refuse (name, "it cannot be the name of a file");
  if (asprintf (path, "%s/%s.blkm", directory, name) == -1) {
    *path = NULL;
    return refuse (name, strerror (ENOMEM));
  }
  file = *path + strlen (directory) + 1;
  fd = openat (directory_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC |
               O_NOCTTY | O_NONBLOCK);
  if (fd != -1)
    return fd;
  refuse (name, errno == ELOOP ? "its manifest is a symbolic link"
                               : strerror (errno));
  free (*path);
  *path = NULL;
  return -1;
}
