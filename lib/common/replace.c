/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The states of a new file:
 *
 *     unnamed ──┐
 *               ├──► named, at NAME ──► [at EXAMINED] ──► published, at PATH
 *     named ────┘
 *
 * Until it is published, the file has no name, if the file system supports
 * O_TMPFILE: even a killed program leaves no file.  Otherwise it is at NAME,
 * which a signal handler removes.  A file without a name gets NAME just before
 * PATH, because linkat(2) cannot replace an existing file.  Only a crash, or
 * another signal, leaves a file at NAME.
 *
 * A check before rename(2) can be too late: after the check a user, or
 * logrotate, can put another file at the path, which the rename would remove.
 * So the two names are exchanged, which removes nothing.  Then the file that
 * came out is judged.  If it may be replaced, it is removed.  Otherwise the
 * names are exchanged again; for a moment readers have found the new file.
 *
 * During that moment another program can rename a file over the path once more.
 * That file then comes out instead of ours, and is put back.  The program has
 * removed our file, and would have removed the first file of others too, if
 * that had been at the path.  This first file is kept at the other name.
 *
 * Not all file systems can exchange names: NFS and many that use FUSE cannot.
 * There, the file is judged and then replaced with rename(2).
 *
 * The content is synced before the file gets its path, so a crash leaves the
 * old or the new file, and not a part of one.  The directory is synced
 * afterwards: a later crash leaves the new file.
 *
 * What the users do, and why not all the same:
 *
 *             blksum: manifests    the plan of parts    the filters' files
 *  judge      overwrite_check      none: an existing    open_ours
 *                                  plan stays
 *  NAME       of this process:     the same             fixed: a server has a
 *             others may write                          lock, the next removes
 *             the file, on any                          what a killed one left
 *             host
 *  without    if possible          the same             no: at the start it is
 *  NAME                                                 checked that it works
 *  a signal   removes NAME         the same             is nbdkit's: the next
 *                                                       server removes NAME
 *  EXAMINED   NAME                 -                    a name that never has a
 *                                                       part of a file: what a
 *                                                       crash leaves is judged
 *  directory  opened by its path   the same             open from the start:
 *                                                       later the user that
 *                                                       nbdkit runs as may not
 *                                                       open it
 *  an error   leaves the old file  leaves the old one,  empties or removes the
 *                                  which is used        old file: a client may
 *                                                       have changed the disk
 *
 * What blkhash export writes is like a manifest, but has no judge: an existing
 * file stays.
 *
 * Here is only the mechanism.  What may be replaced, and all messages, are the
 * users': tools/io/new-file.c, tools/job/manifest-file.c and
 * filter/common/output-file.c.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/replace.h"
#include "common/same-file.h"

#define MAX_TRIES 10            /* while a file appears and disappears */

/* For systems other than Linux. */
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#endif

/* ---- Signals ---- */

/* The name that a signal handler removes, or NULL: only one file at a time has
 * one.
 */
static const char *volatile incomplete;

static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
#define NR_SIGNALS (sizeof signals / sizeof signals[0])

/* Remove the name.  The default action of the signal is executed after this
 * handler returns.
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

/* NEW gets its name, which a signal from now on removes. */
static void
set_incomplete (const struct replacement *new)
{
  if (!new->unlink_on_signal)
    return;
  assert (!incomplete);
  incomplete = new->name;
  catch_signals ();
}

static void
clear_incomplete (const struct replacement *new)
{
  if (new->unlink_on_signal)
    incomplete = NULL;
}

/* If a signal ends the program, then before or after names are exchanged.
 * Meanwhile NAME may be that of a file of others, so no handler removes it.
 */
static void
block_signals (sigset_t *blocked)
{
  sigset_t set;
  size_t i;

  sigemptyset (&set);
  for (i = 0; i < NR_SIGNALS; i++)
    sigaddset (&set, signals[i]);
  pthread_sigmask (SIG_BLOCK, &set, blocked);
}

/* ---- The new file ---- */

static void
format_fd_path (char path[32], int fd)
{
  snprintf (path, 32, "/proc/self/fd/%d", fd);
}

/* Open a file without a name, which can be linked later.  Returns -1 if that is
 * not possible, usually because the file system does not support it.
 */
static int
open_unnamed (const struct replacement *new)
{
#ifdef O_TMPFILE
  char *copy = strdup (new->path), path[32];
  int fd;

  if (!copy)
    return -1;
  fd = open (dirname (copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, new->mode);
  free (copy);
  if (fd == -1)
    return -1;
  format_fd_path (path, fd);
  if (access (path, F_OK) == 0)
    return fd;
  close (fd);                   /* no /proc */
#else
  (void) new;
#endif
  return -1;
}

int
replacement_open (struct replacement *new)
{
  new->named = new->synced = false;
  new->fd = new->unnamed ? open_unnamed (new) : -1;
  if (new->fd != -1)
    return 0;
  set_incomplete (new);
  new->fd = open (new->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  new->mode);
  new->named = new->fd != -1;
  if (!new->named)
    clear_incomplete (new);
  return new->named ? 0 : -1;
}

int
replacement_write (struct replacement *new, const char *text)
{
  size_t len = strlen (text);
  ssize_t n;

  new->synced = false;
  for (; len > 0; text += n, len -= n) {
    n = write (new->fd, text, len);
    if (n == -1)
      return -1;
  }
  return 0;
}

int
replacement_sync (struct replacement *new)
{
  if (!new->synced && fsync (new->fd) == -1)
    return -1;
  new->synced = true;
  return 0;
}

static int
link_to (const struct replacement *new, const char *path)
{
  char fd_path[32];

  if (new->named)
    return link (new->name, path);
  format_fd_path (fd_path, new->fd);
  return linkat (AT_FDCWD, fd_path, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

static int
give_name (struct replacement *new)
{
  if (new->named)
    return 0;
  set_incomplete (new);
  new->named = link_to (new, new->name) == 0;
  if (!new->named)
    clear_incomplete (new);
  return new->named ? 0 : -1;
}

int
replacement_link (struct replacement *new)
{
  return replacement_sync (new) == -1 ? -1 : link_to (new, new->path);
}

void
replacement_close (struct replacement *new)
{
  int err = errno;

  if (new->fd != -1)
    close (new->fd);            /* some file systems remove no open file */
  if (new->named) {
    unlink (new->name);
    clear_incomplete (new);
  }
  new->named = false;
  new->fd = -1;
  errno = err;
}

int
replacement_remove_leftover (const char *name)
{
  struct stat st;

  if (lstat (name, &st) == -1)
    return errno == ENOENT ? 0 : -1;
  if (!S_ISREG (st.st_mode)) {
    errno = EEXIST;
    return -1;
  }
  return unlink (name);
}

/* ---- The directory ---- */

int
replace_sync_directory (int fd)
{
  if (fsync (fd) == 0 || errno == EINVAL || errno == ENOTSUP)
    return 0;
  return -1;
}

int
replace_sync_directory_of (const char *path)
{
  char *copy = strdup (path);
  int fd, r, err;

  if (!copy)
    return -1;
  fd = open (dirname (copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  r = fd != -1 ? replace_sync_directory (fd) : errno == EACCES ? 0 : -1;
  err = errno;
  if (fd != -1)
    close (fd);
  free (copy);
  errno = err;
  return r;
}

/* ---- The exchange ---- */

static int
rename_with (const char *from, const char *path, unsigned flags)
{
#ifdef HAVE_RENAMEAT2
  return renameat2 (AT_FDCWD, from, AT_FDCWD, path, flags);
#else
  (void) from; (void) path; (void) flags;
  errno = ENOSYS;
  return -1;
#endif
}

/* Returns true if ERR means that the system or the file system does not support
 * the flags of rename_with.
 */
static bool
is_unsupported (int err)
{
  return err == EINVAL || err == ENOSYS || err == ENOTSUP;
}

/* Rename FROM to PATH, which does not exist.  Returns 0, or -1 with errno,
 * which is EEXIST if PATH exists.
 */
static int
rename_new (const char *from, const char *path)
{
  struct stat st;

  if (rename_with (from, path, RENAME_NOREPLACE) == 0)
    return 0;
  if (!is_unsupported (errno))
    return -1;
  if (link (from, path) == 0) {
    unlink (from);
    return 0;
  }
  if (errno == EEXIST)
    return -1;
  /* This file system has no hard links. */
  if (lstat (path, &st) == 0) {
    errno = EEXIST;
    return -1;
  }
  return errno == ENOENT ? rename (from, path) : -1;
}

static enum replace_result
failed (const char *from)
{
  int err = errno;

  unlink (from);
  errno = err;
  return REPLACE_FAILED;
}

/* The judge has refused the file that is at FROM now.  The file NEW, which was
 * at FROM, is at PATH, unless another program has changed PATH since.
 */
static enum replace_result
put_back (const char *from, const char *path, const struct stat *new)
{
  struct stat st;

  if (rename_with (from, path, RENAME_EXCHANGE) == -1)
    return errno == ENOENT && rename_new (from, path) == 0 ? REPLACE_REFUSED
                                                           : REPLACE_DISPLACED;
  if (lstat (from, &st) == -1)
    return REPLACE_REFUSED;     /* probably NEW, but it may not be removed */
  if (same_file (&st, new)) {
    unlink (from);
    return REPLACE_REFUSED;
  }
  rename_with (from, path, RENAME_EXCHANGE);
  return REPLACE_DISPLACED;
}

static enum replace_result
replace_without_exchange (const char *from, const char *path,
                          replace_judge *judge, void *opaque, int *old)
{
  *old = judge (opaque, path);
  if (*old == -1 && errno != ENOENT) {
    unlink (from);
    return REPLACE_REFUSED;
  }
  if ((*old == -1 ? rename_new (from, path) : rename (from, path)) == 0)
    return REPLACE_DONE;
  return failed (from);
}

/* Rename the file FROM to PATH.  Without a judge no names are exchanged.  After
 * REPLACE_FAILED and REPLACE_REFUSED, FROM has been removed, unless that
 * failed.
 */
static enum replace_result
replace_file (const char *from, const char *path, replace_judge *judge,
              void *opaque, int *old)
{
  struct stat new;
  int tries;

  if (!judge)
    return rename_new (from, path) == 0 ? REPLACE_DONE : failed (from);
  if (lstat (from, &new) == -1)
    return failed (from);
  for (tries = 0; tries < MAX_TRIES; tries++) {
    if (rename_with (from, path, RENAME_EXCHANGE) == 0) {
      *old = judge (opaque, from);
      if (*old == -1)
        return put_back (from, path, &new);
      unlink (from);
      return REPLACE_DONE;
    }
    if (is_unsupported (errno))
      return replace_without_exchange (from, path, judge, opaque, old);
    if (errno != ENOENT)
      return failed (from);
    if (rename_new (from, path) == 0)
      return REPLACE_DONE;
    if (errno != EEXIST)
      return failed (from);
  }
  return failed (from);
}

static int
sync_directory (const struct replacement *new)
{
  return new->directory != -1 ? replace_sync_directory (new->directory)
                              : replace_sync_directory_of (new->path);
}

enum replace_result
replacement_publish (struct replacement *new, replace_judge *judge,
                     void *opaque, int *old)
{
  const char *from = new->examined ? new->examined : new->name;
  enum replace_result r;
  sigset_t blocked;

  *old = -1;
  if (replacement_sync (new) == -1 || give_name (new) == -1 ||
      (new->examined && rename (new->name, from) == -1))
    return REPLACE_FAILED;
  if (new->unlink_on_signal)
    block_signals (&blocked);
  new->named = false;
  clear_incomplete (new);
  r = replace_file (from, new->path, judge, opaque, old);
  if (new->unlink_on_signal)
    pthread_sigmask (SIG_SETMASK, &blocked, NULL);
  return r == REPLACE_DONE && sync_directory (new) == -1 ? REPLACE_NOT_SYNCED
                                                         : r;
}
