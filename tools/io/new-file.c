/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A new file, which gets its name when it is complete.
 *
 * Until then it has no name, if the file system supports O_TMPFILE: even a
 * killed program leaves no file.  Otherwise it has a temporary name, which a
 * signal handler removes if SIGHUP, SIGINT or SIGTERM ends the program.  A file
 * without a name gets the temporary name just before the final one, because
 * linkat(2) cannot replace an existing file.
 *
 * While the file gets its final name, the replaced file can have the temporary
 * one: see ../lib/common/replace.c.  It may be a file of somebody else, so
 * a signal handler does not remove it then.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../lib/common/replace.h"
#include "io/new-file.h"
#include "util/error.h"

#define MODE 0600

static void
format_fd_path (char name[32], int fd)
{
  snprintf (name, 32, "/proc/self/fd/%d", fd);
}

/* Open a file without a name, which can be linked later.  Returns -1 if that is
 * not possible, usually because the file system does not support it.
 */
static int
open_unnamed (const char *path)
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
  format_fd_path (name, fd);
  if (access (name, F_OK) == 0)
    return fd;
  close (fd);                   /* no /proc */
#else
  (void) path;
#endif
  return -1;
}

/* ---- Signals ---- */

/* The temporary name that a signal handler removes, or NULL: only one file at
 * a time has one.
 */
static const char *volatile incomplete;

static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
#define NR_SIGNALS (sizeof signals / sizeof signals[0])

/* Remove the temporary name.  The default action of the signal is executed
 * after this handler returns.
 */
static void
remove_incomplete (int sig)
{
  if (incomplete)
    unlink (incomplete);
  raise (sig);
}

/* Signals that are ignored, such as with nohup, stay ignored, and those that
 * have a handler keep it.
 */
static void
catch_signals (void)
{
  struct sigaction old, action = {
    .sa_handler = remove_incomplete, .sa_flags = SA_RESETHAND
  };
  size_t i;

  for (i = 0; i < NR_SIGNALS; i++)
    if (sigaction (signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
      sigaction (signals[i], &action, NULL);
}

static void
set_incomplete (const char *path)
{
  assert (!incomplete);
  incomplete = path;
  catch_signals ();
}

/* ---- The file ---- */

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

static void
open_named (struct new_file *file)
{
  set_incomplete (file->temporary_path);
  file->fd = open (file->temporary_path,
                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
  file->named = file->fd != -1;
  if (!file->named)
    incomplete = NULL;
}

/* A blksum on another host, or in another container, may have the same process
 * id and be writing the same file.  So the name also contains the nanoseconds
 * of the current second; if these are the same too, the later of the two
 * programs cannot create its file.  Returns NULL if there is no memory.
 */
static char *
make_temporary_path (const char *path)
{
  struct timespec now;
  char *name;

  clock_gettime (CLOCK_REALTIME, &now);
  if (asprintf (&name, "%s.%ld.%09ld.new", path, (long) getpid (),
                now.tv_nsec) == -1)
    return NULL;
  return name;
}

int
new_file_open (struct new_file *file, const char *path, struct error *error)
{
  *file = (struct new_file) { .fd = -1, .path = strdup (path) };
  if (file->path)
    file->temporary_path = make_temporary_path (file->path);
  if (file->temporary_path) {
    file->fd = open_unnamed (file->path);
    if (file->fd == -1)
      open_named (file);
  }
  if (file->fd != -1)
    return 0;
  error_errno (error, errno, "cannot create %s", path);
  new_file_close (file);
  return -1;
}

static int
link_temporary (struct new_file *file)
{
  char name[32];

  if (file->named)
    return 0;
  format_fd_path (name, file->fd);
  set_incomplete (file->temporary_path);
  file->named = linkat (AT_FDCWD, name, AT_FDCWD, file->temporary_path,
                        AT_SYMLINK_FOLLOW) == 0;
  if (!file->named)
    incomplete = NULL;
  return file->named ? 0 : -1;
}

int
new_file_sync_directory (const char *path, struct error *error)
{
  char *copy = strdup (path);
  int fd, err = 0;

  if (!copy)
    return error_errno (error, ENOMEM, "cannot sync the directory of %s", path);
  fd = open (dirname (copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd == -1)
    err = errno == EACCES ? 0 : errno;
  else {
    if (fsync (fd) == -1 && errno != EINVAL && errno != ENOTSUP)
      err = errno;
    close (fd);
  }
  free (copy);
  return err ? error_errno (error, err, "cannot sync the directory of %s", path)
             : 0;
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

/* Rename the file to its final name.  Returns 0, or -1 with the reason. */
static int
replace (struct new_file *file, struct judge *ours)
{
  int old, r = -1;

  switch (replace_file (file->temporary_path, file->path, judge, ours, &old)) {
  case REPLACE_DONE:
    r = 0;
    break;
  case REPLACE_FAILED:
    error_errno (ours->error, errno, "cannot create %s", file->path);
    break;
  case REPLACE_REFUSED:
    break;
  case REPLACE_DISPLACED:
    *ours->error = (struct error) { "" };
    error_set (ours->error, "the file that was at %s is at %s now", file->path,
               file->temporary_path);
    break;
  }
  if (old != -1)
    close (old);
  return r;
}

int
new_file_publish (struct new_file *file, new_file_check *check,
                  const void *opaque, struct error *error)
{
  struct judge ours = { file->path, check, opaque, error };
  sigset_t set, blocked;
  size_t i;
  int r;

  if (fsync (file->fd) == -1 || link_temporary (file) == -1)
    return error_errno (error, errno, "cannot create %s", file->path);
  /* If a signal ends the program, then before or after this, so that no file is
   * left.
   */
  sigemptyset (&set);
  for (i = 0; i < NR_SIGNALS; i++)
    sigaddset (&set, signals[i]);
  pthread_sigmask (SIG_BLOCK, &set, &blocked);
  file->named = false;
  incomplete = NULL;
  r = replace (file, &ours);
  pthread_sigmask (SIG_SETMASK, &blocked, NULL);
  return r == 0 ? new_file_sync_directory (file->path, error) : -1;
}

void
new_file_close (struct new_file *file)
{
  if (file->named) {
    unlink (file->temporary_path);
    incomplete = NULL;
  }
  if (file->fd != -1)
    close (file->fd);
  free (file->temporary_path);
  free (file->path);
}
