/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: hash an image with the help of its old manifest, and lists or a
 * dirty bitmap of the ranges that have changed since.
 *
 * The image is read where it has changed.  A random sample of all other blocks
 * is also read, as an audit.  Leaves of the old manifest are not kept in
 * memory: they are read in order, when the new manifest needs them
 * (overlay-runs.h).
 *
 * The name of a dirty bitmap can contain the sum that the image had when the
 * bitmap was added.  Then the old manifest must have this sum, which is
 * checked before anything is hashed, and before an audit can find a difference.
 * The sum is at the end of a manifest, so the manifest is read twice in this
 * case.
 *
 * Change trackers can be wrong, and some have been.  The audit can detect this:
 * it reads a sample of the blocks that the tracker has not recorded.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "../lib/common/clock.h"
#include "../lib/common/sums.h"
#include "../lib/common/util.h"
#include "blkhash-manifest.h"
#include "job/changes.h"
#include "job/image-runs.h"
#include "job/job.h"
#include "job/manifest-file.h"
#include "job/manifest-operand.h"
#include "job/overlay-runs.h"
#include "source/source.h"
#include "util/error.h"
#include "util/ranges.h"

struct update {
  struct hash_request hash;     /* gets the parameters of the old manifest; the
                                 * source uses its options */
  const struct update_request *request;
  struct source *source;
  int fd;                       /* descriptor of the old manifest */
  struct blkhash_manifest_reader *reader;
  struct ranges changed;
  struct audit_sample sample;
  struct manifest_file manifest;
};

/* ---- The old manifest ---- */

static bool
is_stdin (const char *name)
{
  return strcmp (name, "-") == 0;
}

/* Check that the name BITMAP contains the sum of the old manifest, or the first
 * digits of this sum.
 */
static int
check_bitmap (const struct update *update, const char *bitmap,
              struct error *error)
{
  struct hash_request any = { .progress = update->hash.progress };
  struct error reason = { "" };
  char hex[SUM_HEX_SIZE];
  struct sum sum;

  any.progress.aside = true;
  if (job_manifest_verify (&any, update->fd, &sum, &reason) == -1)
    return error_set (error, "%s: %s", update->request->old, reason.text);
  sum_line_hex (sum.md, sum.md_len, hex);
  blkhash_opts_free (sum.hash);
  return bitmap_name_check (bitmap, hex, error);
}

static int
check_old (const struct update *update, struct error *error)
{
  const struct blkhash_manifest_reader *r = update->reader;
  uint64_t size = blkhash_manifest_reader_size (r);
  const char *name = update->request->old;

  if (!blkhash_manifest_reader_is_complete (r))
    return error_set (error, "%s is the manifest of a part of an image, which "
                      "cannot be updated", name);
  if (size != update->source->size)
    return error_set (error, "%s is of an image of %" PRIu64 " bytes, and this "
                      "one has %" PRIu64 ": after a change of the size, hash "
                      "the whole image%s", name, size, update->source->size,
                      update->source->size > size
                      ? "; --size is for an image on a larger disk" : "");
  return 0;
}

/* Use the hash parameters of the old manifest.  Parameters that the user chose
 * must be the same.
 */
static int
use_old_params (struct update *update, struct error *error)
{
  const struct blkhash_opts *opts =
    blkhash_manifest_reader_opts (update->reader);
  struct error reason = { "" };
  struct blkhash_opts *copy;

  if (blkhash_opts_get_digest_size (opts) == 0)
    return error_set (error, "%s has only digests without a length, which "
                      "cannot be audited", update->request->old);
  if (job_manifest_check_params (&update->hash, opts, &reason) == -1)
    return error_set (error, "%s: %s", update->request->old, reason.text);
  copy = blkhash_opts_copy (opts);
  if (!copy)
    return error_errno (error, errno, "cannot hash");
  blkhash_opts_set_threads (copy, blkhash_opts_get_threads (update->hash.opts));
  update->hash.opts = copy;
  return 0;
}

static int
open_old (struct update *update, struct error *error)
{
  const char *name = update->request->old;
  const char *bitmap = update->hash.source.bitmap;
  char reason[BLKHASH_MAX_REASON_SIZE];

  update->fd = job_manifest_open (name);
  if (update->fd == -1)
    return error_errno (error, errno, "cannot open %s", name);
  if (bitmap && bitmap_name_has_sum (bitmap) &&
      check_bitmap (update, bitmap, error) == -1)
    return -1;
  update->reader =
    blkhash_manifest_reader_new (update->fd, 0, reason, sizeof reason);
  return update->reader ? check_old (update, error)
    : error_set (error, "%s: %s", name, reason);
}

/* ---- The new manifest ---- */

static uint32_t
block_size (const struct update *update)
{
  return blkhash_opts_get_block_size (update->hash.opts);
}

/* Returns the number of bytes for the progress: the data that is read, and the
 * leaves of trusted blocks.
 */
static uint64_t
total_bytes (const struct update *update)
{
  uint32_t size = block_size (update);
  uint64_t read = audit_sample_bytes (&update->sample);
  uint64_t rest = update->source->size - read;

  return read + DIV_ROUND_UP (rest, size) *
    blkhash_opts_get_digest_size (update->hash.opts);
}

/* Report a range that differs, although no list of changes contains it. */
static void
report_range (void *opaque, uint64_t start, uint64_t length)
{
  const struct update *update = opaque;
  struct error error = { "" };

  error_set (&error, "%" PRIu64 " bytes at %" PRIu64 " differ from %s; %s",
             length, start, update->request->old,
             update->hash.source.bitmap ? "not in the dirty bitmap"
             : "in no list of changes");
  update->hash.source.warn (update->hash.operand, &error);
}

/* Write the leaves of IMAGE, which is open, and of the old manifest to the new
 * one.  Stores in SUM the statistics of reading the image.
 */
static enum job_status
write_leaves (struct update *update, struct image_runs *image,
              const struct progress *progress, struct sum *sum,
              struct error *error)
{
  const char *name = update->request->old;
  struct manifest_runs base;
  struct overlay_runs overlay = {
    .base = &base.runs,
    .image = &image->runs,
    .sample = &update->sample,
    .base_name = name,
    .size = update->source->size,
    .block_size = block_size (update),
    .progress = progress,
    .error = error,
    .report = report_range,
    .opaque = update,
  };

  manifest_runs_init (&base, update->reader, name, update->source->size, NULL,
                      error);
  overlay_runs_init (&overlay);
  if (manifest_file_write (&update->manifest, &overlay.runs, error) == -1)
    return JOB_FAILED;
  if (overlay.differs) {
    error_set (error, "no manifest was written; hash the whole image, and do "
               "not trust what recorded its changes");
    return JOB_DIFFERS;
  }
  *sum = image->sum;
  sum->hole += overlay.base_zeros;
  return JOB_DONE;
}

static enum job_status
write_manifest (struct update *update, struct sum *sum, struct error *error)
{
  const struct selection changed_or_audited = {
    .end = UINT64_MAX, .sample = &update->sample
  };
  struct scan_request request = {
    .opts = update->hash.opts, .selection = &changed_or_audited
  };
  struct image_runs image;
  enum job_status r;

  request.progress = progress_begin (&update->hash.progress,
                                     total_bytes (update));
  r = image_runs_open (&image, update->source, &request, NULL, error);
  if (r == JOB_DONE) {
    r = write_leaves (update, &image, request.progress, sum, error);
    image_runs_close (&image);
  }
  progress_end (request.progress, r == JOB_DONE);
  if (r != JOB_DONE)
    return r;
  sum->incremental = true;
  if (manifest_file_finish (&update->manifest, sum, error) == -1)
    return JOB_FAILED;
  return manifest_file_publish (&update->manifest, error);
}

static int
choose_sample (struct update *update, struct error *error)
{
  uint64_t seed;
  int err = 0;

  if (getentropy (&seed, sizeof seed) == -1)
    err = errno;
  if (err == 0)
    err = audit_sample_init (&update->sample, update->source->size,
                             block_size (update), &update->changed,
                             update->request->audit, seed);
  return err ? error_errno (error, err, "cannot hash") : 0;
}

static enum job_status
hash (struct update *update, struct sum *sum, struct error *error)
{
  enum job_status r;

  if (choose_sample (update, error) == -1)
    return JOB_FAILED;
  r = manifest_file_open (&update->manifest, update->hash.manifest,
                          update->hash.opts, update->source->size,
                          update->source, error);
  if (r == JOB_DONE) {
    r = write_manifest (update, sum, error);
    manifest_file_close (&update->manifest);
  }
  audit_sample_destroy (&update->sample);
  return r;
}

/* The memory of the changed ranges is taken from that for reads, which have not
 * begun.
 */
static int
read_changes (struct update *update, struct error *error)
{
  const struct update_request *request = update->request;
  struct source *source = update->source;
  struct ranges *changed = &update->changed;
  int r = 0;

  if (update->hash.source.bitmap)
    r = source->ops->read_bitmap (source, changed, error);
  for (size_t i = 0; i < request->nr_changed && r == 0; i++)
    r = changes_read (request->changed[i], source->size, changed, error);
  update->hash.source.memory -= changed->room * sizeof changed->items[0];
  return r;
}

/* SUM gets the hash parameters of the manifest, which can differ from the
 * defaults.
 */
static enum job_status
update_manifest (struct update *update, struct sum *sum, struct error *error)
{
  enum job_status r;

  if (use_old_params (update, error) == -1)
    return JOB_FAILED;
  r = read_changes (update, error);
  if (r == JOB_DONE)
    r = hash (update, sum, error);
  if (r == JOB_DONE)
    sum->hash = update->hash.opts;
  else
    blkhash_opts_free (update->hash.opts);
  return r;
}

/* ---- The job ---- */

static int
check_operand (const struct update_request *request, struct error *error)
{
  const struct source_options *source = &request->hash.source;
  const char *operand = request->hash.operand;
  int nr_stdin = is_stdin (request->old) + job_manifest_is_stdin (operand);

  for (size_t i = 0; i < request->nr_changed; i++)
    nr_stdin += is_stdin (request->changed[i]);
  if (job_manifest_path (operand))
    return error_set (error, "this is a manifest, and an image is updated");
  if (source->bitmap && !source_is_uri (operand))
    return error_set (error, "--bitmap is for NBD: \"qemu-nbd -r -t -B %s\" "
                      "serves an image with its dirty bitmap",
                      source->bitmap);
  if (nr_stdin > 1)
    return error_set (error, "standard input can only be one of the image, its "
                      "manifest, and the lists of changes");
  return 0;
}

enum job_status
job_update (const struct update_request *request, struct sum *sum,
            struct error *error)
{
  const struct hash_request *hash = &request->hash;
  struct update update = { .hash = *hash, .request = request, .fd = -1 };
  double start = clock_seconds ();
  enum job_status r = JOB_FAILED;

  if (check_operand (request, error) == -1 ||
      source_open (&update.hash.source, hash->operand, &update.source,
                   error) == -1)
    return JOB_FAILED;
  if (update.source->sequential)
    error_set (error, "a pipe can only be read as a whole");
  else if (open_old (&update, error) == 0)
    r = update_manifest (&update, sum, error);
  ranges_free (&update.changed);
  blkhash_manifest_reader_free (update.reader);
  if (update.fd != -1)
    close (update.fd);
  source_close (update.source);
  if (r == JOB_DONE)
    sum->seconds = clock_seconds () - start;
  return r;
}
