/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: hash an image, and continue after an interruption.
 *
 * The journal is an unfinished manifest, at the path where the finished one
 * will be.  FILE.state beside it identifies the image.  The journal is used
 * only if the image was not modified since the journal was begun.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "../lib/common/sum-line.h"
#include "io/file.h"
#include "io/files.h"
#include "io/new-file.h"
#include "job/checkpoint.h"
#include "job/identity.h"
#include "job/incremental.h"
#include "job/job.h"
#include "job/journal.h"
#include "job/manifest.h"
#include "job/state.h"
#include "source/open.h"
#include "source/source.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/ranges.h"
#include "util/request.h"
#include "util/result.h"

struct resume {
  const struct hash_request *hash;
  const struct incremental_request *request;
  struct source *source;
  struct identity identity;
  bool untrusted;               /* a modification might not be detected */
  struct checkpoint checkpoint;
};

/* ---- The image ---- */

static int
open_image (struct resume *resume, struct error *error)
{
  const struct hash_request *hash = resume->hash;

  if (source_open (&hash->source, hash->operand, &resume->source, error) == -1)
    return -1;
  if (identity_init (&resume->identity, resume->source, error) == 0)
    return 0;
  source_close (resume->source);
  return -1;
}

static void
close_image (struct resume *resume)
{
  identity_destroy (&resume->identity);
  source_close (resume->source);
}

/* If the image was just modified, another modification within the same tick of
 * the clock would not be detected.  So wait until the times can be trusted, and
 * open the image again, before anything is hashed.
 */
static int
open_settled (struct resume *resume, struct error *error)
{
  struct timespec delay = { 0 };
  long long wait;

  if (open_image (resume, error) == -1)
    return -1;
  wait = identity_wait (&resume->identity);
  if (wait > 0) {
    close_image (resume);
    delay.tv_sec = wait / 1000000000;
    delay.tv_nsec = wait % 1000000000;
    while (nanosleep (&delay, &delay) == -1 && errno == EINTR)
      ;
    if (open_image (resume, error) == -1)
      return -1;
    wait = identity_wait (&resume->identity);
  }
  resume->untrusted = wait != 0;
  return 0;
}

static int
check_image (const struct resume *resume, struct error *error)
{
  if (resume->source->sequential)
    return error_set (error, "a pipe can only be read as a whole, not with "
                      "--resume");
  if (!resume->identity.detects_changes && !resume->request->assume_unchanged)
    return error_set (error, "changes of a device, or on a server, cannot be "
                      "detected: --resume needs --assume-unchanged");
  return 0;
}

/* Take the sum from the finished manifest.  The earlier run was interrupted
 * after it had published the manifest, and before it had printed the sum and
 * removed the state.
 */
static int
use_finished (const struct resume *resume, struct sum *sum,
              struct error *error)
{
  if (job_manifest (resume->hash, resume->checkpoint.file.path, sum,
                    error) == -1)
    return -1;
  snprintf (sum->format, sizeof sum->format, "%s", resume->source->format);
  sum->incremental = true;
  return 0;
}

/* ---- Hashing ---- */

static int
make_id (char id[STATE_ID_DIGITS + 1], struct error *error)
{
  unsigned char bytes[STATE_ID_DIGITS / 2];

  if (getentropy (bytes, sizeof bytes) == -1)
    return error_errno (error, errno, "cannot hash");
  sum_line_hex (bytes, sizeof bytes, id);
  return 0;
}

/* Sync the data and the times of the image before any leaf is in the journal.
 * Otherwise a crash could undo data that was hashed, and this would not be
 * detected.
 */
static int
sync_image (const struct source *source, struct error *error)
{
  const struct files *files = source->files;
  const struct file *file;

  for (file = files ? files->first : NULL; file; file = file->next)
    if (fsync (file->fd) == -1 && errno != EINVAL && errno != EROFS)
      return error_errno (error, errno, "cannot sync the image");
  return 0;
}

static void
warn_start_over (const struct resume *resume, const char *why)
{
  struct error line = { "" };

  error_set (&line, "%s %s: starting over", resume->hash->manifest, why);
  resume->hash->source.warn (resume->hash->operand, &line);
}

static void
warn_untrusted (const struct resume *resume)
{
  struct error line = { "" };

  error_set (&line, "the image has just changed, or its times are in the "
             "future: if this run is interrupted, the next one starts over");
  resume->hash->source.warn (resume->hash->operand, &line);
}

static int
begin_journal (struct resume *resume, struct error *error)
{
  struct checkpoint *checkpoint = &resume->checkpoint;
  char id[STATE_ID_DIGITS + 1];
  const struct state state = {
    .journal = id,
    .identity = resume->identity.text,
    .untrusted = resume->untrusted,
  };

  if (resume->untrusted)
    warn_untrusted (resume);
  if (make_id (id, error) == -1 ||
      sync_image (resume->source, error) == -1 ||
      state_write (&state, checkpoint->state_path, error) == -1)
    return -1;
  if (journal_file_begin (&checkpoint->file, resume->hash->opts,
                          resume->source->size, id, error) == 0)
    return 0;
  unlink (checkpoint->state_path);
  return -1;
}

/* Publish the manifest.  The sum is added to the state first, so that the next
 * run can recognize the finished manifest if this run is interrupted.
 */
static int
publish (struct resume *resume, struct incremental *inc,
         const struct sum *sum, struct error *error)
{
  char hex[SUM_HEX_SIZE];
  int r;

  sum_line_hex (sum->md, sum->md_len, hex);
  r = state_add_sum (resume->checkpoint.state_path, hex, error);
  return r == 0 ? manifest_file_publish (&inc->manifest, error) : -1;
}

/* Remove the journal and its state: an audited block does not match, so other
 * leaves in the journal can be wrong, too.  The removal is synced, so that a
 * crash cannot bring the journal back: the audit of the next run may miss the
 * wrong leaves.
 */
static void
discard_checkpoint (const struct resume *resume)
{
  struct error error = { "" };

  unlink (resume->checkpoint.file.path);
  unlink (resume->checkpoint.state_path);
  if (new_file_sync_directory (resume->checkpoint.file.path, &error) == -1)
    resume->hash->source.warn (resume->hash->operand, &error);
}

static int
hash_and_publish (struct resume *resume, struct incremental *inc,
                  struct sum *sum, struct error *error)
{
  struct journal journal;
  int r;

  if (journal_start (&journal, &resume->checkpoint.file,
                     resume->source->files, error) == -1)
    return -1;
  resume->request->set_resumable (true);
  r = incremental_hash (inc, &journal, sum, error);
  resume->request->set_resumable (false);
  if (journal_stop (&journal, error) == -1 && r == 0)
    r = -1;
  if (r == 0)
    r = publish (resume, inc, sum, error);
  if (r == 1)
    discard_checkpoint (resume);
  return r;
}

/* Hash the image, except for the blocks that the journal already has, of which
 * only a sample is audited.
 */
static int
hash (struct resume *resume, struct sum *sum, struct error *error)
{
  const struct journal_file *file = &resume->checkpoint.file;
  struct ranges unknown = { 0 };
  struct baseline baseline = {
    .reader = file->reader,
    .name = resume->hash->manifest,
    .unknown = &unknown,
    .audit = resume->request->audit,
  };
  uint64_t size = resume->source->size;
  uint32_t block_size = blkhash_opts_get_block_size (resume->hash->opts);
  struct incremental inc;
  int r, err = 0;

  if (file->blocks <= size / block_size)
    err = ranges_add (&unknown, file->blocks * block_size,
                      size - file->blocks * block_size);
  if (err)
    r = error_errno (error, err, "cannot hash");
  else
    r = incremental_open (&inc, resume->hash, OVERWRITE_CHECK_START,
                          resume->source, &baseline, error);
  if (r == 0) {
    r = hash_and_publish (resume, &inc, sum, error);
    incremental_close (&inc);
  }
  ranges_free (&unknown);
  return r;
}

static int
hash_from_start (struct resume *resume, struct sum *sum, struct error *error)
{
  return begin_journal (resume, error) == 0 ? hash (resume, sum, error) : -1;
}

/* Resume from the journal, which is read a second time: only the first pass
 * shows where it ends, and so which blocks of the image are read and audited.
 * Nothing is modified before the first pass has ended.  Rejected: to keep the
 * leaves of the first pass, which would take memory for all of them; and to
 * write them to the new manifest in the first pass and audit later, which would
 * need its own code beside incremental_hash.  A pass over 512 MiB, the leaves
 * of 1 TiB, takes about 0.2 s.
 */
static int
hash_from_journal (struct resume *resume, struct sum *sum, struct error *error)
{
  return journal_file_continue (&resume->checkpoint.file, error) == 0
    ? hash (resume, sum, error) : -1;
}

/* ---- The job ---- */

static int
hash_from_checkpoint (struct resume *resume, struct sum *sum,
                      struct error *error)
{
  const char *why;

  switch (checkpoint_validate (&resume->checkpoint, resume->hash,
                               resume->source,
                               &resume->identity, &why, error)) {
  case CHECKPOINT_ERROR:
    break;
  case CHECKPOINT_STALE:
    warn_start_over (resume, why);
    return hash_from_start (resume, sum, error);
  case CHECKPOINT_EMPTY:
    return hash_from_start (resume, sum, error);
  case CHECKPOINT_RESUMABLE:
    return hash_from_journal (resume, sum, error);
  case CHECKPOINT_FINISHED:
    return use_finished (resume, sum, error);
  }
  return -1;
}

int
job_resume (const struct incremental_request *request, struct sum *sum,
            struct error *error)
{
  const struct hash_request *hash = &request->hash;
  struct resume resume = { .hash = hash, .request = request };
  double start = clock_seconds ();
  int r;

  if (job_manifest_path (hash->operand))
    return error_set (error, "--resume is for images, and this is a manifest");
  if (job_manifest_is_stdin (hash->operand))
    return error_set (error, "--resume is not for standard input, which may be "
                      "something else next time");
  if (open_settled (&resume, error) == -1)
    return -1;
  r = check_image (&resume, error);
  if (r == 0)
    r = checkpoint_open (&resume.checkpoint, hash, resume.source, error);
  if (r == 0) {
    r = hash_from_checkpoint (&resume, sum, error);
    checkpoint_close (&resume.checkpoint);
  }
  close_image (&resume);
  if (r == 0)
    sum->seconds = clock_seconds () - start;
  return r;
}

/* If another program has removed MANIFEST since this run published it, a new
 * run of blksum may have started.  The state of that run has no sum, and is
 * kept.
 */
void
job_resume_end (const char *manifest)
{
  char *path = new_file_resolve (manifest);
  char *state_path = path ? state_path_of (path) : NULL;
  struct error error = { "" };
  struct state state;

  if (state_path && state_read (&state, state_path, &error) == 1) {
    if (state.sum)
      unlink (state_path);
    state_destroy (&state);
  }
  free (state_path);
  free (path);
}
