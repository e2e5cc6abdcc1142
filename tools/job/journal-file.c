/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The file of an unfinished manifest.
 *
 * A crash can leave a partial record at the end.  Everything after the last
 * complete record is truncated before a new record is written.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "../lib/manifest/manifest-unfinished.h"
#include "io/new-file.h"
#include "job/journal-file.h"
#include "job/overwrite.h"
#include "util/error.h"
#include "util/progress.h"

#define HEADER_SIZE 512         /* see blkhash-manifest(5) */
#define MAX_TRIES 10            /* to lock a file that is replaced */

/* ---- Opening and locking ---- */

/* Returns true if the path still names this file, and not a finished manifest
 * that has replaced the file.
 */
static bool
is_at_path (const struct journal_file *file)
{
  struct stat st, at_path;

  return fstat (file->fd, &st) == 0 && stat (file->path, &at_path) == 0 &&
    st.st_dev == at_path.st_dev && st.st_ino == at_path.st_ino;
}

static int
lock (int fd, const char *path, struct error *error)
{
  if (flock (fd, LOCK_EX | LOCK_NB) == 0)
    return 0;
  if (errno == EWOULDBLOCK)
    return error_set (error, "another blksum is using %s", path);
  return error_errno (error, errno, "cannot lock %s", path);
}

/* Open and lock the file.  Returns 1; 0 if the file was replaced in between; or
 * -1.
 */
static int
try_open (struct journal_file *file, struct error *error)
{
  file->fd = open (file->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
  if (file->fd == -1)
    return error_errno (error, errno, "cannot create %s", file->path);
  if (lock (file->fd, file->path, error) == -1) {
    close (file->fd);
    return -1;
  }
  if (is_at_path (file))
    return 1;
  close (file->fd);
  return 0;
}

int
journal_file_open (struct journal_file *file, const char *path,
                   struct error *error)
{
  int tries, r = 0;

  *file = (struct journal_file) { .path = strdup (path), .read_fd = -1 };
  if (!file->path)
    return error_errno (error, errno, "cannot open %s", path);
  for (tries = 0; tries < MAX_TRIES && r == 0; tries++)
    r = try_open (file, error);
  if (r == 1)
    return 0;
  if (r == 0)
    error_set (error, "cannot lock %s: it was replaced %d times in a row",
               file->path, MAX_TRIES);
  free (file->path);
  return -1;
}

void
journal_file_close (struct journal_file *file)
{
  struct stat st;

  if (fstat (file->fd, &st) == 0 && st.st_size == 0 && is_at_path (file))
    unlink (file->path);
  blkhash_manifest_writer_free (file->writer);
  blkhash_manifest_reader_free (file->reader);
  if (file->read_fd != -1)
    close (file->read_fd);
  close (file->fd);
  free (file->path);
}

/* ---- Reading ---- */

static void
free_reader (struct journal_file *file)
{
  blkhash_manifest_reader_free (file->reader);
  file->reader = NULL;
}

/* Replace the reader by one at the beginning of the file. */
static int
rewind_reader (struct journal_file *file, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];

  free_reader (file);
  if (lseek (file->read_fd, 0, SEEK_SET) == -1)
    return error_errno (error, errno, "cannot read %s", file->path);
  file->reader = manifest_reader_new_unfinished (file->read_fd, reason,
                                                 sizeof reason);
  return file->reader ? 0 : error_set (error, "%s: %s", file->path, reason);
}

/* Read to the end.  Returns 0, or an errno value. */
static int
read_runs (struct journal_file *file, const struct progress *progress)
{
  struct blkhash_manifest_run run;
  uint64_t offset = 0;
  int err;

  while ((err = blkhash_manifest_reader_next (file->reader, &run)) == 0) {
    uint64_t end = manifest_reader_offset (file->reader);

    progress_add (progress, end - offset);
    offset = end;
    file->blocks = run.first + run.count;
  }
  return err == ENOENT ? 0 : err;
}

int
journal_file_scan (struct journal_file *file, const struct progress *progress,
                   struct error *error)
{
  struct stat st;
  int err;

  if (fstat (file->fd, &st) == -1)
    return error_errno (error, errno, "cannot read %s", file->path);
  if (st.st_size < HEADER_SIZE || overwrite_is_empty (file->fd, st.st_size))
    return 0;
  file->read_fd = open (file->path, O_RDONLY | O_CLOEXEC);
  if (file->read_fd == -1)
    return error_errno (error, errno, "cannot read %s", file->path);
  if (rewind_reader (file, error) == -1)
    return -1;
  progress_begin_aside (progress, st.st_size);
  err = read_runs (file, progress);
  progress_end (progress, err == 0);
  return err ? error_set (error, "cannot read %s: %s", file->path,
                          blkhash_manifest_reader_error (file->reader)) : 0;
}

/* ---- Writing ---- */

/* Returns true if no other user than this one, and root, can read the file. */
static bool
is_private (int fd)
{
  struct stat st;

  return fstat (fd, &st) == 0 && st.st_uid == geteuid () &&
    (st.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

static int
check_replaced (int fd, const char *name, const void *opaque,
                struct error *error)
{
  (void) opaque;
  return overwrite_check (fd, name, OVERWRITE_CHECK_START, NULL, error);
}

/* Replace a file that others can read: an unfinished manifest is only for its
 * owner.  The new file is locked before it has a name, so that no other blksum
 * can lock it first.  Rejected: to change the mode, because those who have the
 * file open could still read it, and some file systems refuse it.
 */
static int
replace (struct journal_file *file, struct error *error)
{
  struct new_file new;
  int r;

  if (new_file_open (&new, file->path, error) == -1)
    return -1;
  r = lock (new.fd, file->path, error);
  if (r == 0)
    r = new_file_publish (&new, check_replaced, NULL, error);
  if (r == 0) {
    close (file->fd);
    file->fd = new.fd;
    new.fd = -1;
  }
  new_file_close (&new);
  return r;
}

/* Sync the truncation before the new header is written, because a crash must
 * not leave old records after the new header.
 */
int
journal_file_begin (struct journal_file *file, const struct blkhash_opts *opts,
                    uint64_t size, const char *id, struct error *error)
{
  int err = 0;

  free_reader (file);
  file->blocks = 0;
  if (!is_private (file->fd) && replace (file, error) == -1)
    return -1;
  if (ftruncate (file->fd, 0) == -1 || fsync (file->fd) == -1 ||
      lseek (file->fd, 0, SEEK_SET) == -1)
    err = errno;
  else {
    file->writer = manifest_writer_new_unfinished (opts, size, 0, file->fd);
    err = file->writer ? manifest_writer_set_id (file->writer, id) : errno;
  }
  if (err == 0)
    err = manifest_writer_flush (file->writer);
  if (err == 0 && fsync (file->fd) == -1)
    err = errno;
  if (err)
    return error_errno (error, err, "cannot write %s", file->path);
  return new_file_sync_directory (file->path, error);
}

int
journal_file_continue (struct journal_file *file, struct error *error)
{
  uint64_t end = manifest_reader_offset (file->reader);

  if (rewind_reader (file, error) == -1)
    return -1;
  if (ftruncate (file->fd, end) == 0 && lseek (file->fd, end, SEEK_SET) != -1)
    file->writer = manifest_writer_new_unfinished (
      blkhash_manifest_reader_opts (file->reader),
      blkhash_manifest_reader_size (file->reader), file->blocks, file->fd);
  return file->writer ? 0 : error_errno (error, errno, "cannot write %s",
                                         file->path);
}
