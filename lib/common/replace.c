/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
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
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
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

enum replace_result
replace_file (const char *from, const char *path, replace_judge *judge,
              void *opaque, int *old)
{
  struct stat new;
  int tries;

  *old = -1;
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
