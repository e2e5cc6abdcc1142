/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: write the manifest of a part of an image, --part.
 *
 * An existing manifest is kept if it is complete, and the part, the size of the
 * image and the hash parameters are the same.  Then the data of the image is
 * not read, so it is not detected if the image has changed since the manifest
 * was made.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "job/job.h"
#include "job/manifest.h"
#include "job/manifest-file.h"
#include "job/overwrite.h"
#include "read/scan.h"
#include "source/open.h"
#include "source/source.h"
#include "util/error.h"
#include "util/part.h"
#include "util/request.h"
#include "util/result.h"

struct part_job {
  const struct hash_request *request;
  struct source *source;
  char *path;                   /* of the manifest */
  uint64_t first, count;        /* blocks in the manifest */
};

/* ---- An existing manifest ---- */

/* Returns true if R reads the complete manifest of this part.  The manifest is
 * read to its end.
 */
static bool
is_this_part (const struct part_job *job, struct blkhash_manifest_reader *r)
{
  struct blkhash_manifest_run run;
  uint64_t first, count;
  int err;

  blkhash_manifest_reader_blocks (r, &first, &count);
  if (first != job->first || count != job->count ||
      blkhash_manifest_reader_size (r) != job->source->size ||
      !blkhash_opts_same_hash (blkhash_manifest_reader_opts (r),
                               job->request->opts))
    return false;
  do
    err = blkhash_manifest_reader_next (r, &run);
  while (err == 0);
  return err == ENOENT;
}

static bool
is_link (const char *path)
{
  struct stat st;

  return lstat (path, &st) == 0 && S_ISLNK (st.st_mode);
}

/* Returns 1 if the complete manifest exists; 0 if it must be written; or -1
 * with the reason if the file must not be replaced.
 */
static int
find_existing (const struct part_job *job, struct error *error)
{
  int fd = open (job->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                               O_NOFOLLOW);
  struct blkhash_manifest_reader *r;
  int found;

  if (fd == -1)
    return errno == ENOENT ? 0
      : errno == ELOOP && is_link (job->path)
      ? error_set (error, "%s is a symbolic link: a manifest cannot replace it",
                   job->path)
      : error_errno (error, errno, "cannot open %s", job->path);
  found = overwrite_check (fd, job->path, OVERWRITE_CHECK_START,
                           job->source, error);
  if (found == 0) {
    r = blkhash_manifest_reader_new (fd, 0, NULL, 0);
    found = r && is_this_part (job, r);
    blkhash_manifest_reader_free (r);
  }
  close (fd);
  return found;
}

/* ---- Making the manifest ---- */

static int
make_manifest (const struct part_job *job, struct error *error)
{
  struct part_range range =
    part_read_range (job->first, job->count, job->source->size,
                     blkhash_opts_get_block_size (job->request->opts));
  struct scan_request request = {
    .opts = job->request->opts,
    .wanted = part_range_has,
    .opaque = &range,
  };
  struct manifest_file manifest;
  struct sum sum;
  int r;

  if (manifest_file_open_part (&manifest, job->path, job->request->opts,
                               job->source->size, job->first, job->count,
                               job->source, error) == -1)
    return -1;
  request.progress = progress_begin (&job->request->progress,
                                     range.end - range.start);
  r = manifest_file_hash (&manifest, job->source, &request, &sum, error);
  progress_end (request.progress, r == 0);
  if (r == 0)
    r = manifest_file_publish (&manifest, error);
  manifest_file_close (&manifest);
  return r;
}

/* ---- The job ---- */

static int
choose_blocks (struct part_job *job, const struct part_request *request,
               struct error *error)
{
  const struct source *source = job->source;
  uint32_t block_size = blkhash_opts_get_block_size (job->request->opts);
  uint64_t size = source->size;

  if (source->sequential)
    return error_set (error, "a pipe can only be read as a whole, not with "
                      "--part");
  part_blocks (&request->part, size, block_size, &job->first, &job->count);
  job->path = part_path (&request->part, request->dir);
  return job->path ? 0 : error_errno (error, ENOMEM, "cannot hash");
}

int
job_part (const struct part_request *request, struct error *error)
{
  const struct hash_request *hash = &request->hash;
  struct part_job job = { .request = hash };
  int r;

  if (job_manifest_path (hash->operand))
    return error_set (error, "--part is for images, and this is a manifest");
  if (source_open (&hash->source, hash->operand, &job.source, error) == -1)
    return -1;
  r = choose_blocks (&job, request, error);
  if (r == 0)
    r = find_existing (&job, error);
  if (r == 0)
    r = make_manifest (&job, error);
  free (job.path);
  source_close (job.source);
  return r == -1 ? -1 : 0;
}
