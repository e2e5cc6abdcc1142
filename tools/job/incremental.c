/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Create a manifest from the image and from the baseline, another manifest that
 * has most of the leaves.
 *
 * Only a part of the image is read.  The leaves of this part replace those of
 * the baseline: see leaves/overlay-runs.h.
 */

#include <config.h>

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "job/incremental.h"
#include "job/journal.h"
#include "leaves/image-runs.h"
#include "leaves/manifest-runs.h"
#include "leaves/overlay-runs.h"
#include "source/source.h"
#include "util/audit-sample.h"
#include "util/error.h"
#include "util/request.h"
#include "util/result.h"

#define MAX_JOINED (32 * 1024 * 1024) /* bytes; no source reads more at once */

static uint32_t
block_size (const struct incremental *inc)
{
  return blkhash_opts_get_block_size (inc->request->opts);
}

static bool
is_read (const struct audit_sample *sample, uint64_t offset, uint64_t *len)
{
  return audit_sample_at (sample, offset, len) != SAMPLE_TRUSTED;
}

/* Returns whether the *LEN bytes at OFFSET are to be read.  *LEN limits the
 * size of a read, so adjacent units of the audit sample (util/audit-sample.h)
 * are joined while the result for them is the same.
 */
static bool
is_wanted (void *opaque, uint64_t offset, uint64_t *len)
{
  bool wanted = is_read (opaque, offset, len);
  uint64_t more;

  while (*len < MAX_JOINED && is_read (opaque, offset + *len, &more) == wanted)
    *len += more;
  return wanted;
}

/* Returns the number of bytes for the progress: the data that is read, and the
 * leaves of trusted blocks.
 */
static uint64_t
total_bytes (const struct incremental *inc)
{
  uint64_t read = audit_sample_bytes (&inc->sample);
  uint64_t rest = inc->source->size - read;
  uint64_t trusted = rest / block_size (inc) + (rest % block_size (inc) != 0);

  return read + trusted * blkhash_opts_get_digest_size (inc->request->opts);
}

/* Write the leaves of IMAGE, which is open, and of the baseline to the
 * manifest, and to JOURNAL unless it is NULL.  Stores in SUM the statistics
 * of reading the image.  Returns the same as incremental_hash.
 */
static int
write_manifest (struct incremental *inc, struct image_runs *image,
                struct journal *journal, const struct progress *progress,
                struct sum *sum, struct error *error)
{
  const struct baseline *baseline = inc->baseline;
  struct manifest_runs base;
  struct overlay_runs overlay = {
    .base = baseline->reader ? &base.runs : NULL,
    .image = &image->runs,
    .sample = &inc->sample,
    .base_name = baseline->name,
    .base_is_checked = baseline->finished,
    .size = inc->source->size,
    .block_size = block_size (inc),
    .progress = progress,
    .error = error,
  };
  struct leaf_runs *runs = &overlay.runs;
  int r;

  manifest_runs_init (&base, baseline->reader, baseline->name,
                      inc->source->size, NULL, error);
  overlay_runs_init (&overlay);
  if (journal)
    runs = journal_follow (journal, runs, error);
  r = manifest_file_write (&inc->manifest, runs, error);
  if (r == 0) {
    *sum = image->sum;
    sum->hole += overlay.base_zeros;
  }
  return overlay.differs ? 1 : r;
}

int
incremental_hash (struct incremental *inc, struct journal *journal,
                  struct sum *sum, struct error *error)
{
  struct scan_request request = {
    .opts = inc->request->opts,
    .wanted = is_wanted,
    .opaque = &inc->sample,
  };
  struct image_runs image;
  int r;

  request.progress = progress_begin (&inc->request->progress,
                                     total_bytes (inc));
  r = image_runs_open (&image, inc->source, &request, NULL, error);
  if (r == 0) {
    r = write_manifest (inc, &image, journal, request.progress, sum, error);
    image_runs_close (&image);
  }
  progress_end (request.progress, r == 0);
  if (r != 0)
    return r;
  sum->incremental = true;
  return manifest_file_finish (&inc->manifest, sum, error);
}

/* ---- Open and close ---- */

static int
choose_sample (struct incremental *inc, struct error *error)
{
  uint64_t seed;
  int err = 0;

  if (getentropy (&seed, sizeof seed) == -1)
    err = errno;
  if (err == 0)
    err = audit_sample_init (&inc->sample, inc->source->size, block_size (inc),
                             inc->baseline->unknown, inc->baseline->audit,
                             seed);
  return err ? error_errno (error, err, "cannot hash") : 0;
}

int
incremental_open (struct incremental *inc, const struct hash_request *request,
                  enum overwrite_policy policy, struct source *source,
                  const struct baseline *baseline, struct error *error)
{
  *inc = (struct incremental) {
    .request = request,
    .source = source,
    .baseline = baseline,
  };
  if (choose_sample (inc, error) == 0 &&
      manifest_file_open (&inc->manifest, request->manifest, policy,
                          request->opts, source->size, source, error) == 0)
    return 0;
  audit_sample_destroy (&inc->sample);
  return -1;
}

void
incremental_close (struct incremental *inc)
{
  manifest_file_close (&inc->manifest);
  audit_sample_destroy (&inc->sample);
}
