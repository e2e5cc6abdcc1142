/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: hash an image with the help of its old manifest, and a list or a
 * dirty bitmap of the ranges that have changed since.
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
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "../lib/common/sum-line.h"
#include "changes/bitmap-name.h"
#include "changes/list.h"
#include "job/incremental.h"
#include "job/job.h"
#include "job/manifest.h"
#include "job/manifest-file.h"
#include "source/open.h"
#include "source/source.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/ranges.h"
#include "util/request.h"
#include "util/result.h"

struct update {
  struct hash_request hash;     /* gets the parameters of the old manifest; the
                                 * source uses its options */
  const struct incremental_request *request;
  struct source *source;
  int fd;                       /* descriptor of the old manifest */
  struct blkhash_manifest_reader *reader;
  struct ranges changed;
};

/* ---- The old manifest ---- */

static bool
is_stdin (const char *name)
{
  return strcmp (name, "-") == 0;
}

static struct blkhash_manifest_reader *
new_reader (const struct update *update, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];
  struct blkhash_manifest_reader *r =
    blkhash_manifest_reader_new (update->fd, 0, reason, sizeof reason);

  if (!r)
    error_set (error, "%s: %s", update->request->old, reason);
  return r;
}

/* Read the manifest R to its end, and store its sum in HEX, in hexadecimal
 * digits.  Returns 0, or -1 with the reason.
 */
static int
read_sum (struct blkhash_manifest_reader *r, const char *name, char *hex,
          struct error *error)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_manifest_run run;
  unsigned md_len;
  int err;

  do
    err = blkhash_manifest_reader_next (r, &run);
  while (err == 0);
  if (err != ENOENT)
    return error_set (error, "%s: %s", name,
                      blkhash_manifest_reader_error (r));
  if (blkhash_manifest_reader_sum (r, md, &md_len) != 0)
    return error_set (error, "%s is the manifest of a part of an image, which "
                      "has no sum", name);
  sum_line_hex (md, md_len, hex);
  return 0;
}

/* Check that the name BITMAP contains the sum of the old manifest, or the first
 * digits of this sum.  The manifest is read for this, and rewound.
 */
static int
check_bitmap (const struct update *update, const char *bitmap,
              struct error *error)
{
  const char *name = update->request->old;
  off_t start = lseek (update->fd, 0, SEEK_CUR);
  struct blkhash_manifest_reader *r;
  char hex[SUM_HEX_SIZE];
  int status = -1;

  if (start == -1)
    return error_errno (error, errno, "cannot read %s twice, to check that "
                        "the dirty bitmap belongs to it", name);
  r = new_reader (update, error);
  if (r && read_sum (r, name, hex, error) == 0)
    status = bitmap_name_check (bitmap, hex, error);
  blkhash_manifest_reader_free (r);
  if (status == 0 && lseek (update->fd, start, SEEK_SET) == -1)
    return error_errno (error, errno, "cannot read %s", name);
  return status;
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
                      "the whole image", name, size, update->source->size);
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

  update->fd = is_stdin (name) ? fcntl (STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                               : open (name, O_RDONLY | O_CLOEXEC);
  if (update->fd == -1)
    return error_errno (error, errno, "cannot open %s", name);
  if (bitmap && bitmap_name_has_sum (bitmap) &&
      check_bitmap (update, bitmap, error) == -1)
    return -1;
  update->reader = new_reader (update, error);
  return update->reader ? check_old (update, error) : -1;
}

/* ---- The new manifest ---- */

static int
hash (struct update *update, struct sum *sum, struct error *error)
{
  const struct baseline baseline = {
    .reader = update->reader,
    .name = update->request->old,
    .finished = true,
    .unknown = &update->changed,
    .audit = update->request->audit,
  };
  struct incremental inc;
  int r;

  if (incremental_open (&inc, &update->hash, OVERWRITE_CHECK_ALL,
                        update->source, &baseline, error) == -1)
    return -1;
  r = incremental_hash (&inc, NULL, sum, error);
  if (r == 0)
    r = manifest_file_publish (&inc.manifest, error);
  incremental_close (&inc);
  return r;
}

/* The memory of the changed ranges is taken from that for reads, which have not
 * begun.
 */
static int
read_changes (struct update *update, struct error *error)
{
  struct source *source = update->source;
  struct ranges *changed = &update->changed;
  int r = update->hash.source.bitmap
    ? source->ops->read_bitmap (source, changed, error)
    : changes_read (&update->request->changed, source->size, changed, error);

  update->hash.source.memory -= changed->room * sizeof changed->items[0];
  return r;
}

/* SUM gets the hash parameters of the manifest, which can differ from the
 * defaults.
 */
static int
update_manifest (struct update *update, struct sum *sum, struct error *error)
{
  int r;

  if (use_old_params (update, error) == -1)
    return -1;
  r = read_changes (update, error);
  if (r == 0)
    r = hash (update, sum, error);
  if (r == 0)
    sum->hash = update->hash.opts;
  else
    blkhash_opts_free (update->hash.opts);
  return r;
}

/* ---- The job ---- */

static int
check_operand (const struct incremental_request *request, struct error *error)
{
  const struct source_options *source = &request->hash.source;
  const char *operand = request->hash.operand;

  if (job_manifest_path (operand))
    return error_set (error, "--update is for images, and this is a manifest");
  if (source->bitmap && !source_is_uri (operand))
    return error_set (error, "--bitmap is for NBD: \"qemu-nbd -r -t -B %s\" "
                      "serves an image with its dirty bitmap",
                      source->bitmap);
  if (is_stdin (request->old) +
      (request->changed.path && is_stdin (request->changed.path)) +
      job_manifest_is_stdin (operand) > 1)
    return error_set (error, "standard input can only be one of the image, its "
                      "manifest, and the list of changes");
  return 0;
}

int
job_update (const struct incremental_request *request, struct sum *sum,
            struct error *error)
{
  const struct hash_request *hash = &request->hash;
  struct update update = { .hash = *hash, .request = request, .fd = -1 };
  double start = clock_seconds ();
  int r = -1;

  if (check_operand (request, error) == -1 ||
      source_open (&update.hash.source, hash->operand, &update.source,
                   error) == -1)
    return -1;
  if (update.source->sequential)
    error_set (error, "a pipe can only be read as a whole, not with --update");
  else if (open_old (&update, error) == 0)
    r = update_manifest (&update, sum, error);
  ranges_free (&update.changed);
  blkhash_manifest_reader_free (update.reader);
  if (update.fd != -1)
    close (update.fd);
  source_close (update.source);
  if (r == 0)
    sum->seconds = clock_seconds () - start;
  return r;
}
