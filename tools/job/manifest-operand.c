/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A manifest is read only if the operand names it as one.  Manifests are not
 * detected by content, because a guest can write one to its disk.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../lib/manifest/manifest-diff.h"
#include "blkhash-manifest.h"
#include "job/job.h"
#include "job/manifest-operand.h"
#include "util/error.h"

#define PREFIX "manifest:"

const char *
job_manifest_path (const char *operand)
{
  if (strncmp (operand, PREFIX, strlen (PREFIX)) != 0)
    return NULL;
  return operand + strlen (PREFIX);
}

const char *
job_manifest_file (const char *operand)
{
  const char *path = job_manifest_path (operand);

  return path ? path : operand;
}

bool
job_manifest_is_stdin (const char *operand)
{
  return strcmp (job_manifest_file (operand), "-") == 0;
}

int
job_manifest_open (const char *path)
{
  return strcmp (path, "-") == 0 ? fcntl (STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                 : open (path, O_RDONLY | O_CLOEXEC);
}

struct blkhash_opts *
job_manifest_fixed_params (const struct hash_request *request,
                           const struct blkhash_opts *opts)
{
  const struct blkhash_opts *fixed = request->opts;
  const struct blkhash_opts *digest = request->digest_fixed ? fixed : opts;
  const struct blkhash_opts *block = request->block_size_fixed ? fixed : opts;
  const struct blkhash_opts *construction =
    request->construction_fixed ? fixed : opts;
  struct blkhash_opts *params = blkhash_opts_copy (digest);

  if (!params)
    return NULL;
  blkhash_opts_set_block_size (params, blkhash_opts_get_block_size (block));
  blkhash_opts_set_streams (params, blkhash_opts_get_streams (construction));
  blkhash_opts_set_linear (params, blkhash_opts_get_linear (construction));
  return params;
}

static int
refuse_params (const struct blkhash_opts *opts,
               const struct blkhash_opts *fixed, struct error *error)
{
  char tag[BLKHASH_MAX_TAG_SIZE], fixed_tag[BLKHASH_MAX_TAG_SIZE];

  blkhash_opts_get_tag (opts, tag, sizeof tag);
  blkhash_opts_get_tag (fixed, fixed_tag, sizeof fixed_tag);
  return error_set (error, "it is a manifest of %s, not of %s", tag, fixed_tag);
}

int
job_manifest_check_params (const struct hash_request *request,
                           const struct blkhash_opts *opts,
                           struct error *error)
{
  struct blkhash_opts *fixed = job_manifest_fixed_params (request, opts);
  int r = !fixed ? error_errno (error, errno, "cannot read the manifest")
    : blkhash_opts_same_hash (opts, fixed) ? 0
    : refuse_params (opts, fixed, error);

  blkhash_opts_free (fixed);
  return r;
}

static int
read_runs (struct blkhash_manifest_reader *r, const struct progress *progress,
           struct sum *sum, struct error *error)
{
  uint32_t block_size =
    blkhash_opts_get_block_size (blkhash_manifest_reader_opts (r));
  struct blkhash_manifest_run run;
  uint64_t len = 0;
  int err;

  sum->size = blkhash_manifest_reader_size (r);
  while ((err = blkhash_manifest_reader_next (r, &run)) == 0) {
    progress_add (progress, len); /* the previous run is in the sum now */
    len = leaf_run_bytes (&run, sum->size, block_size);
    *(run.leaves ? &sum->data : &sum->hole) += len;
  }
  if (err != ENOENT)
    return error_set (error, "%s", blkhash_manifest_reader_error (r));
  if (blkhash_manifest_reader_sum (r, sum->md, &sum->md_len) != 0)
    return error_set (error, "it is the manifest of a part of an image, which "
                      "has no sum");
  return 0;
}

static int
read_manifest (const struct hash_request *request,
               struct blkhash_manifest_reader *r, struct sum *sum,
               struct error *error)
{
  const struct blkhash_opts *opts;
  const struct progress *progress;
  int status;

  opts = blkhash_manifest_reader_opts (r);
  if (job_manifest_check_params (request, opts, error) == -1)
    return -1;
  progress = progress_begin (&request->progress,
                             blkhash_manifest_reader_size (r));
  status = read_runs (r, progress, sum, error);
  progress_end (progress, status == 0);
  if (status == -1)
    return -1;
  sum->hash = blkhash_opts_copy (opts);
  return sum->hash ? 0 : error_errno (error, errno, "cannot hash");
}

static int
read_file (const struct hash_request *request, int fd, struct sum *sum,
           struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];
  struct blkhash_manifest_reader *r =
    blkhash_manifest_reader_new (fd, 0, reason, sizeof reason);
  int status;

  *sum = (struct sum) { .format = "manifest" };
  status = r ? read_manifest (request, r, sum, error)
             : error_set (error, "%s", reason);
  blkhash_manifest_reader_free (r);
  return status;
}

int
job_manifest (const struct hash_request *request, const char *path,
              struct sum *sum, struct error *error)
{
  int fd = job_manifest_open (path), status;

  if (fd == -1)
    return error_errno (error, errno, "cannot open");
  status = read_file (request, fd, sum, error);
  close (fd);
  return status;
}

int
job_manifest_verify (const struct hash_request *request, int fd,
                     struct sum *sum, struct error *error)
{
  off_t start = lseek (fd, 0, SEEK_CUR);

  if (start == -1)
    return error_errno (error, errno, "it is read twice, and must be a file, "
                        "not a pipe");
  if (read_file (request, fd, sum, error) == -1)
    return -1;
  if (lseek (fd, start, SEEK_SET) == start)
    return 0;
  blkhash_opts_free (sum->hash);
  return error_errno (error, errno, "cannot read it again");
}
