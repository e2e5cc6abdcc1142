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
#include "util/error.h"
#include "util/progress.h"

#define HEADER_SIZE 512         /* see blkhash-manifest(5) */

/* ---- Opening and locking ---- */

/* Returns true if the path is still that of this file.  It is not after a
 * finished manifest has replaced the file.
 */
static bool
is_at_path (const struct journal_file *file)
{
  struct stat st, at_path;

  return fstat (file->fd, &st) == 0 && stat (file->path, &at_path) == 0 &&
    st.st_dev == at_path.st_dev && st.st_ino == at_path.st_ino;
}

static int
lock (const struct journal_file *file, struct error *error)
{
  if (flock (file->fd, LOCK_EX | LOCK_NB) == 0)
    return 0;
  if (errno == EWOULDBLOCK)
    return error_set (error, "another blksum is using %s", file->path);
  return error_errno (error, errno, "cannot lock %s", file->path);
}

/* Open and lock the file.  Returns 1, 0 if the file was replaced in between, or
 * -1.
 */
static int
try_open (struct journal_file *file, struct error *error)
{
  file->fd = open (file->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
  if (file->fd == -1)
    return error_errno (error, errno, "cannot create %s", file->path);
  if (lock (file, error) == -1) {
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

  file->path = strdup (path);
  if (!file->path)
    return error_errno (error, errno, "cannot open %s", path);
  for (tries = 0; tries < 10 && r == 0; tries++)
    r = try_open (file, error);
  if (r == 1)
    return 0;
  error_set (error, "another blksum is using %s", file->path);
  free (file->path);
  return -1;
}

void
journal_file_close (struct journal_file *file)
{
  struct stat st;

  if (fstat (file->fd, &st) == 0 && st.st_size == 0 && is_at_path (file))
    unlink (file->path);
  close (file->fd);
  free (file->path);
}

/* ---- Reading ---- */

struct blkhash_manifest_reader *
journal_file_read (const struct journal_file *file, int *fd,
                   struct error *error)
{
  struct blkhash_manifest_reader *r;
  char reason[BLKHASH_MAX_REASON_SIZE];

  *fd = open (file->path, O_RDONLY | O_CLOEXEC);
  if (*fd == -1) {
    error_errno (error, errno, "cannot read %s", file->path);
    return NULL;
  }
  r = manifest_reader_new_unfinished (*fd, reason, sizeof reason);
  if (!r) {
    error_set (error, "%s: %s", file->path, reason);
    close (*fd);
  }
  return r;
}

/* Read to the end.  Returns 0, or an errno value. */
static int
read_runs (struct blkhash_manifest_reader *r, const struct progress *progress,
           struct journal_found *found)
{
  struct blkhash_manifest_run run;
  int err;

  while ((err = blkhash_manifest_reader_next (r, &run)) == 0) {
    uint64_t offset = manifest_reader_offset (r);

    progress_add (progress, offset - found->offset);
    found->offset = offset;
    found->blocks = run.first + run.count;
  }
  found->offset = manifest_reader_offset (r);
  return err == ENOENT ? 0 : err;
}

static int
scan_records (struct blkhash_manifest_reader *r,
              const struct progress *progress, struct journal_found *found)
{
  int err;

  found->opts = blkhash_opts_copy (blkhash_manifest_reader_opts (r));
  if (!found->opts)
    return errno;
  found->size = blkhash_manifest_reader_size (r);
  found->part = !blkhash_manifest_reader_is_complete (r);
  snprintf (found->id, sizeof found->id, "%s", manifest_reader_id (r));
  err = read_runs (r, progress, found);
  found->finished = err == 0 &&
    blkhash_manifest_reader_sum (r, found->md, &found->md_len) == 0;
  return err;
}

int
journal_file_scan (const struct journal_file *file,
                   const struct progress_form *form,
                   struct journal_found *found, struct error *error)
{
  struct blkhash_manifest_reader *r;
  const struct progress *progress;
  struct stat st;
  int fd, err;

  *found = (struct journal_found) { .opts = NULL };
  if (fstat (file->fd, &st) == -1)
    return error_errno (error, errno, "cannot read %s", file->path);
  if (st.st_size < HEADER_SIZE)
    return 0;
  r = journal_file_read (file, &fd, error);
  if (!r)
    return -1;
  progress = progress_begin_aside (form, st.st_size);
  err = scan_records (r, progress, found);
  progress_end (progress, err == 0);
  if (err)
    error_set (error, "cannot read %s: %s", file->path,
               blkhash_manifest_reader_error (r));
  blkhash_manifest_reader_free (r);
  close (fd);
  return err ? -1 : 0;
}

void
journal_found_destroy (struct journal_found *found)
{
  blkhash_opts_free (found->opts);
}

/* ---- Writing ---- */

/* Sync the truncation before the new header is written, because a crash must
 * not leave old records after it.
 */
struct blkhash_manifest_writer *
journal_file_begin (const struct journal_file *file,
                    const struct blkhash_opts *opts, uint64_t size,
                    const char *id, struct error *error)
{
  struct blkhash_manifest_writer *w = NULL;
  int err = 0;

  if (ftruncate (file->fd, 0) == -1 || fsync (file->fd) == -1 ||
      lseek (file->fd, 0, SEEK_SET) == -1)
    err = errno;
  else {
    w = manifest_writer_new_unfinished (opts, size, 0, file->fd);
    err = w ? manifest_writer_set_id (w, id) : errno;
  }
  if (err == 0)
    err = manifest_writer_flush (w);
  if (err == 0 && fsync (file->fd) == -1)
    err = errno;
  if (err == 0) {
    new_file_sync_directory (file->path);
    return w;
  }
  blkhash_manifest_writer_free (w);
  error_errno (error, err, "cannot write %s", file->path);
  return NULL;
}

struct blkhash_manifest_writer *
journal_file_continue (const struct journal_file *file,
                       const struct journal_found *found,
                       struct error *error)
{
  struct blkhash_manifest_writer *w = NULL;

  if (ftruncate (file->fd, found->offset) == 0 &&
      lseek (file->fd, found->offset, SEEK_SET) != -1)
    w = manifest_writer_new_unfinished (found->opts, found->size,
                                        found->blocks, file->fd);
  if (!w)
    error_errno (error, errno, "cannot write %s", file->path);
  return w;
}
