/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The temporary names of the files, and the messages about them.  How a file is
 * created and published is explained in ../lib/common/replace.c.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io/new-file.h"
#include "util/error.h"

#define MODE 0600
#define MAX_TRIES 10            /* while another program has the name */

/* ---- Paths ---- */

/* Returns the target of the symbolic link PATH, as a path that is absolute or
 * relative to the current directory; or NULL on error, or if PATH is no link.
 */
static char *
link_target (const char *path)
{
  char text[PATH_MAX], *copy, *target = NULL;
  ssize_t len = readlink (path, text, sizeof text);

  if (len <= 0 || len == sizeof text)
    return NULL;
  if (text[0] == '/')
    return strndup (text, len);
  copy = strdup (path);
  if (copy && asprintf (&target, "%s/%.*s", dirname (copy), (int) len,
                        text) == -1)
    target = NULL;
  free (copy);
  return target;
}

char *
new_file_resolve (const char *path)
{
  char *real = realpath (path, NULL), *target;

  if (real || errno != ENOENT)
    return real;
  target = link_target (path);
  if (!target)
    return strdup (path);
  real = new_file_resolve (target);
  free (target);
  return real;
}

/* A blksum on another host, or in another container, may have the same process
 * id and be writing the same file.  So the name also contains the nanoseconds
 * of the current second.  Returns NULL if there is no memory.
 */
static char *
make_name (const char *prefix)
{
  struct timespec now;
  char *name;

  clock_gettime (CLOCK_REALTIME, &now);
  if (asprintf (&name, "%s.%ld.%09ld.new", prefix, (long) getpid (),
                now.tv_nsec) == -1)
    return NULL;
  return name;
}

/* Is NAME too long for its directory?  A file that is created without a name
 * would fail only when it is published.
 */
static bool
is_too_long (const char *name)
{
  return access (name, F_OK) == -1 && errno == ENAMETOOLONG;
}

/* ---- The file ---- */

void
new_file_close (struct replacement *file)
{
  int err = errno;

  replacement_close (file);
  free (file->name);
  free (file->path);
  errno = err;
}

int
new_file_create (struct replacement *file, const char *path, const char *prefix)
{
  int tries = 0, r = -1;

  *file = (struct replacement) {
    .path = strdup (path), .directory = -1, .mode = MODE, .unnamed = true,
    .unlink_on_signal = true, .fd = -1
  };
  do {
    free (file->name);
    file->name = make_name (prefix);
    if (file->path && file->name && !is_too_long (file->name))
      r = replacement_open (file);
  } while (r == -1 && errno == EEXIST && ++tries < MAX_TRIES);
  if (r == -1)
    new_file_close (file);
  return r;
}

int
new_file_open (struct replacement *file, const char *path, struct error *error)
{
  return new_file_create (file, path, path) == 0 ? 0
    : error_errno (error, errno, "cannot create %s", path);
}

int
new_file_sync_directory (const char *path, struct error *error)
{
  return replace_sync_directory_of (path) == 0 ? 0
    : error_errno (error, errno, "cannot sync the directory of %s", path);
}

struct judge {
  const char *path;             /* of the complete file */
  new_file_check *check;
  const void *opaque;
  struct error *error;
};

static int
judge (void *opaque, const char *path)
{
  const struct judge *judge = opaque;
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                       O_NOFOLLOW);

  if (fd == -1) {
    if (errno != ENOENT)
      error_errno (judge->error, errno, "cannot replace %s", judge->path);
    return -1;
  }
  if (judge->check (fd, judge->path, judge->opaque, judge->error) == 0)
    return fd;
  close (fd);
  errno = EEXIST;
  return -1;
}

int
new_file_publish (struct replacement *file, new_file_check *check,
                  const void *opaque, struct error *error)
{
  struct judge ours = { file->path, check, opaque, error };
  int old, r = -1;

  switch (replacement_publish (file, check ? judge : NULL, &ours, &old)) {
  case REPLACE_DONE:
    r = 0;
    break;
  case REPLACE_NOT_SYNCED:
    error_errno (error, errno, "cannot sync the directory of %s", file->path);
    break;
  case REPLACE_FAILED:
    error_errno (error, errno, "cannot create %s", file->path);
    break;
  case REPLACE_REFUSED:
    break;
  case REPLACE_DISPLACED:
    *error = (struct error) { "" };
    error_set (error, "the file that was at %s is at %s now", file->path,
               file->name);
    break;
  }
  if (old != -1)
    close (old);
  return r;
}
