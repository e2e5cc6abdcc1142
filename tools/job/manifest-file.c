/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/common/same-file.h"
#include "../lib/common/util.h"
#include "../lib/manifest/manifest.h"
#include "blkhash-manifest.h"
#include "io/file-read.h"
#include "io/file.h"
#include "job/image-runs.h"
#include "job/job.h"
#include "job/manifest-file.h"
#include "source/source.h"
#include "util/error.h"

#define COPY_SIZE 65536

bool
manifest_file_is_stdout (const char *name)
{
  return name && strcmp (name, "-") == 0;
}

/* ---- What may be replaced ---- */

static bool
is_source_file (const struct source *source, const struct stat *st)
{
  const struct files *files = source ? source->files : NULL;
  const struct file *file = files ? files->first : NULL;

  while (file && !same_file (&file->st, st))
    file = file->next;
  return file != NULL;
}

static int
refuse (const char *name, const char *why, struct error *error)
{
  return error_set (error, "%s exists, and is not a manifest that can be "
                    "replaced: %s", name, why);
}

static int
check_start (int fd, const char *name, off_t size, struct error *error)
{
  const struct read_file file = { .fd = fd, .direct_fd = -1 };
  char head[sizeof MANIFEST_MAGIC - 1];
  size_t len = MIN (size, (off_t) sizeof head);
  int err = read_range (&file, head, len, len, 0);

  if (err > 0)
    return error_errno (error, err, "cannot read %s", name);
  if (err == 0 && memcmp (head, MANIFEST_MAGIC, len) == 0)
    return 0;
  return refuse (name, "it does not begin like a manifest", error);
}

/* Check the records.  The sum is not computed, so this takes only as long as
 * reading the file.
 */
static int
check_records (int fd, const char *name, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];

  return manifest_validate (fd, reason, sizeof reason) == 0
    ? 0 : refuse (name, reason, error);
}

int
overwrite_check (int fd, const char *name, enum overwrite_policy policy,
                 const struct source *source, struct error *error)
{
  struct stat st;

  if (fstat (fd, &st) == -1)
    return error_errno (error, errno, "cannot replace %s", name);
  if (!S_ISREG (st.st_mode))
    return error_set (error, "%s is not a regular file: a manifest cannot "
                      "replace it", name);
  if (is_source_file (source, &st))
    return error_set (error, "%s cannot be both the image and its manifest",
                      name);
  if (st.st_size == 0)
    return 0;
  return policy == OVERWRITE_CHECK_START
    ? check_start (fd, name, st.st_size, error)
    : check_records (fd, name, error);
}

int
overwrite_check_path (const char *path, const struct source *source,
                      struct error *error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;

  if (fd == -1)
    return errno == ENOENT ? 0
      : error_errno (error, errno, "cannot replace %s", path);
  r = overwrite_check (fd, path, OVERWRITE_CHECK_ALL, source, error);
  close (fd);
  return r;
}

/* ---- The output ---- */

/* Open an unlinked temporary file for a manifest on standard output. */
static int
open_spool (struct replacement *file, struct error *error)
{
  const char *dir = getenv ("TMPDIR");
  char *path;

  *file = (struct replacement) { .fd = -1 };
  if (asprintf (&path, "%s/blksum-XXXXXX", dir && *dir ? dir : "/tmp") == -1)
    return error_errno (error, ENOMEM, "cannot create a temporary file");
  file->fd = mkostemp (path, O_CLOEXEC);
  if (file->fd == -1)
    error_errno (error, errno, "cannot create a temporary file");
  else
    unlink (path);
  free (path);
  return file->fd == -1 ? -1 : 0;
}

/* The writer computes the sum, and its output is not needed. */
static int
open_nothing (struct replacement *file, struct error *error)
{
  file->fd = open ("/dev/null", O_WRONLY | O_CLOEXEC);
  return file->fd == -1 ? error_errno (error, errno, "cannot open /dev/null")
                        : 0;
}

static int
open_output (struct manifest_file *manifest, const char *name,
             const struct source *source, struct error *error)
{
  char *path;
  int r;

  if (!name)
    return open_nothing (&manifest->file, error);
  if (manifest->spooled)
    return open_spool (&manifest->file, error);
  if (manifest->to_stdout)
    return 0;
  if (overwrite_check_path (name, source, error) == -1)
    return -1;
  manifest->policy = OVERWRITE_CHECK_ALL;
  manifest->source = source;
  path = new_file_resolve (name);
  r = path ? new_file_open (&manifest->file, path, error)
           : error_errno (error, errno, "cannot create %s", name);
  free (path);
  return r;
}

/* Returns 0, or an errno value. */
static int
copy_to_stdout (int fd)
{
  char buf[COPY_SIZE];
  off_t offset = 0;
  ssize_t n;

  errno = 0;
  while ((n = pread (fd, buf, sizeof buf, offset)) > 0) {
    if (fwrite (buf, 1, n, stdout) != n)
      break;
    offset += n;
  }
  if (n == 0 && fflush (stdout) != EOF)
    return 0;
  return errno ? errno : EIO;
}

/* ---- Writing ---- */

/* If standard output is a broken pipe, SIGPIPE ends blksum, as when it prints a
 * sum.
 */
static int
write_failed (const struct manifest_file *manifest, int err,
              struct error *error)
{
  if (manifest->to_stdout && err == EPIPE)
    die_of_broken_pipe ();
  if (!manifest->to_stdout && !manifest->file.path)
    return error_errno (error, err, "cannot compute the sum");
  return error_errno (error, err, "cannot write %s",
                      manifest->to_stdout ? "the manifest"
                                          : manifest->file.path);
}

void
manifest_file_close (struct manifest_file *manifest)
{
  blkhash_manifest_writer_free (manifest->writer);
  new_file_close (&manifest->file);
}

/* Close MANIFEST, whose writer could not be created. */
static int
open_failed (struct manifest_file *manifest, int err, struct error *error)
{
  manifest_file_close (manifest);
  return error_errno (error, err, "cannot create a manifest");
}

int
manifest_file_open (struct manifest_file *manifest, const char *name,
                    const struct blkhash_opts *opts, uint64_t size,
                    const struct source *source, struct error *error)
{
  bool to_stdout = manifest_file_is_stdout (name);
  int fd;

  *manifest = (struct manifest_file) {
    .to_stdout = to_stdout,
    .spooled = to_stdout && size == BLKHASH_SIZE_UNKNOWN,
    .file = { .fd = -1 },
    .block_size = blkhash_opts_get_block_size (opts),
  };
  if (open_output (manifest, name, source, error) == -1)
    return -1;
  fd = manifest->file.fd == -1 ? STDOUT_FILENO : manifest->file.fd;
  manifest->writer = blkhash_manifest_writer_new (opts, size, fd);
  return manifest->writer ? 0 : open_failed (manifest, errno, error);
}

int
manifest_file_open_part (struct manifest_file *manifest, const char *path,
                         const struct blkhash_opts *opts, uint64_t size,
                         uint64_t first, uint64_t count, const char *plan,
                         const struct source *source, struct error *error)
{
  int err;

  *manifest = (struct manifest_file) {
    .policy = OVERWRITE_CHECK_START, .source = source,
    .block_size = blkhash_opts_get_block_size (opts)
  };
  if (new_file_open (&manifest->file, path, error) == -1)
    return -1;
  manifest->writer =
    blkhash_manifest_writer_new_part (opts, size, first, count,
                                      manifest->file.fd);
  err = manifest->writer ? manifest_writer_set_plan (manifest->writer, plan)
                         : errno;
  return err ? open_failed (manifest, err, error) : 0;
}

/* Returns 0, or an errno value. */
static int
write_run (struct manifest_file *manifest,
           const struct blkhash_manifest_run *run)
{
  struct blkhash_leaf_sink sink =
    blkhash_manifest_writer_sink (manifest->writer);

  manifest->ends_with_data = run->leaves != NULL;
  if (run->leaves)
    manifest->data += run->count;
  return run->leaves
    ? sink.data (sink.opaque, run->first, run->count, run->leaves,
                 run->leaf_size)
    : sink.zero (sink.opaque, run->first, run->count);
}

int
manifest_file_write (struct manifest_file *manifest, struct leaf_runs *runs,
                     struct error *error)
{
  struct blkhash_manifest_run run;
  int err;

  while ((err = runs->next (runs, &run)) == 0) {
    err = write_run (manifest, &run);
    if (err)
      return write_failed (manifest, err, error);
  }
  return err == ENOENT ? 0 : -1;
}

int
manifest_file_finish (struct manifest_file *manifest, struct sum *sum,
                      struct error *error)
{
  uint64_t data = manifest->data * manifest->block_size;
  uint64_t more = -sum->size & (manifest->block_size - 1);
  int err = blkhash_manifest_writer_finish (manifest->writer, sum->size,
                                            sum->md, &sum->md_len);

  sum->data = manifest->ends_with_data ? data - more : data;
  sum->zero = sum->size - sum->data - sum->hole;
  return err ? write_failed (manifest, err, error) : 0;
}

int
manifest_file_hash (struct manifest_file *manifest, struct source *source,
                    const struct scan_request *request, struct sum *sum,
                    struct error *error)
{
  struct image_runs image;
  int r;

  if (image_runs_open (&image, source, request, NULL, error) == -1)
    return -1;
  r = manifest_file_write (manifest, &image.runs, error);
  image_runs_close (&image);
  if (r == -1)
    return -1;
  *sum = image.sum;
  return manifest_file_finish (manifest, sum, error);
}

static int
check_replaced (int fd, const char *name, const void *opaque,
                struct error *error)
{
  const struct manifest_file *manifest = opaque;

  return overwrite_check (fd, name, manifest->policy, manifest->source, error);
}

int
manifest_file_publish (struct manifest_file *manifest, struct error *error)
{
  int err = manifest->spooled ? copy_to_stdout (manifest->file.fd) : 0;

  if (err)
    return write_failed (manifest, err, error);
  return !manifest->file.path ? 0
    : new_file_publish (&manifest->file, check_replaced, manifest, error);
}
