/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: find the ranges in which two images differ.
 *
 * If both inputs are images that can be read at any offset (see the function
 * image in source/source.h), source/pair.c compares them, and presents them as
 * one image, which is zero where they are identical.  Other images are hashed,
 * and manifests are read.  This is done for both inputs at the same time, and
 * the leaves are compared as they arrive.  Bytes after the end of the shorter
 * input are compared with zeros.
 *
 * The block in which an image ends is hashed with zeros appended, because the
 * other input can be longer, such as a pipe that has not ended.  But the last
 * block of a manifest cannot be extended: only its digest is known.  The result
 * can then be undecided, which is an error.
 *
 * With --part the sum of the whole manifest is verified first.  The blocks
 * outside of the part are not read from an image, and are zeros in its leaves;
 * the manifest is read to its end again.  So the difference of the leaves is
 * limited to the part.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/common/same-file.h"
#include "../lib/common/sums.h"
#include "../lib/common/util.h"
#include "../lib/manifest/manifest-diff.h"
#include "blkhash-manifest.h"
#include "blkhash.h"
#include "job/image-runs.h"
#include "job/job.h"
#include "job/manifest-operand.h"
#include "job/overlay-runs.h"
#include "source/source.h"
#include "util/error.h"
#include "util/ranges.h"
#include "util/source-options.h"

/* An input: an image, whose leaves are computed, or a manifest, which has them.
 * Either becomes an iterator of leaf runs.
 */
struct compare_input {
  const char *operand, *format;
  struct source_options options; /* of the source, which refers to them */
  const struct compare_request *request;
  struct source *source;        /* an image; or NULL */
  struct blkhash_manifest_reader *reader; /* a manifest; or NULL */
  int fd;                       /* the file of the manifest, or -1 */
  unsigned char md[BLKHASH_MAX_MD_SIZE]; /* with a part: the sum of the
                                          * manifest, which was verified */
  uint64_t size;                /* size of the image in bytes;
                                 * SOURCE_SIZE_UNKNOWN for a pipe that has not
                                 * ended */
  uint64_t trailing;            /* with --size: bytes after the image, or
                                 * SOURCE_SIZE_UNKNOWN */
  const struct selection *selection; /* the bytes to read of an image, or NULL
                                      * for all; set by the caller */
  struct error error;           /* the reason of a failure */

  /* The iterator of leaf runs, and what it needs. */
  const struct blkhash_opts *opts;
  const struct compare_input *other;
  struct image_runs image;
  struct manifest_runs manifest;
};

/* ---- Opening the inputs ---- */

/* Limit the input to the first --size bytes of the image of the manifest. */
static int
limit_size (struct compare_input *input, uint32_t block_size)
{
  uint64_t size = input->request->size;

  if (size == SOURCE_WHOLE || size == input->size)
    return 0;
  if (input->size < size)
    return error_set (&input->error, "has only %" PRIu64 " bytes, fewer than "
                      "the %" PRIu64 " of --size", input->size, size);
  if (size % block_size != 0)
    return error_set (&input->error, "has blocks of %" PRIu32 " bytes, and "
                      "--size ends within one, of which there is only the "
                      "digest", block_size);
  input->trailing = input->size - size;
  input->size = size;
  return 0;
}

/* With --part, verify the sum of the whole manifest before a part of the image
 * is read.
 */
static int
verify_manifest (struct compare_input *input)
{
  const struct compare_request *request = input->request;
  const struct expected_sum *expected = request->manifest_sum;
  struct hash_request hash = { .progress = request->hash.progress };
  struct sum sum;
  char *line;

  if (request->same_hash)
    hash = request->hash;
  hash.progress.aside = true;
  if (job_manifest_verify (&hash, input->fd, &sum, &input->error) == -1)
    return -1;
  memcpy (input->md, sum.md, sum.md_len);
  line = sum_line (sum.hash, sum.md, sum.md_len, NULL, true, false);
  blkhash_opts_free (sum.hash);
  if (expected && memcmp (expected->md, sum.md, sum.md_len) != 0)
    error_set (&input->error, "it is the manifest of another image, with %s",
               line ? line : "another sum");
  free (line);
  return error_is_set (&input->error) ? -1 : 0;
}

static int
open_manifest (struct compare_input *input, bool check_sum)
{
  char reason[BLKHASH_MAX_REASON_SIZE];
  uint32_t block_size;

  if (input->format)
    return error_set (&input->error, "this is a manifest, and -f and -F are "
                      "for images");
  input->fd = job_manifest_open (job_manifest_path (input->operand));
  if (input->fd == -1)
    return error_errno (&input->error, errno, "cannot open");
  if (input->request->part.n > 0 && verify_manifest (input) == -1)
    return -1;
  input->reader =
    blkhash_manifest_reader_new (input->fd,
                                 check_sum ? 0 : BLKHASH_MANIFEST_NO_SUM,
                                 reason, sizeof reason);
  if (!input->reader)
    return error_set (&input->error, "%s", reason);
  input->size = blkhash_manifest_reader_size (input->reader);
  block_size =
    blkhash_opts_get_block_size (blkhash_manifest_reader_opts (input->reader));
  if (!blkhash_manifest_reader_is_complete (input->reader))
    return error_set (&input->error, "it is the manifest of a part of an "
                      "image, which cannot be compared");
  return limit_size (input, block_size);
}

static int
open_image (struct compare_input *input)
{
  input->options = input->request->hash.source;
  input->options.format = input->format;
  if (source_open (&input->options, input->operand, &input->source,
                   &input->error) == -1)
    return -1;
  input->size = input->source->size;
  input->trailing = input->source->trailing;
  if (input->source->sequential && input->request->part.n > 0)
    return error_set (&input->error, "a pipe can only be read as a whole, not "
                      "with --part");
  return 0;
}

/* Open operand I of REQUEST.  If CHECK_SUM is set, the sum of a manifest is
 * computed while its leaves are read, and verified at its end.  Returns 0, or
 * -1 with the reason in INPUT, which must be closed in any case.
 */
static int
input_open (struct compare_input *input, const struct compare_request *request,
            int i, bool check_sum)
{
  *input = (struct compare_input) {
    .operand = request->operands[i], .format = request->formats[i],
    .request = request, .fd = -1
  };
  return job_manifest_path (input->operand)
    ? open_manifest (input, check_sum) : open_image (input);
}

/* Open BOTH: the two inputs as one image, which is zero where they are
 * identical.  If the inputs do not support this, both->source is NULL.  The
 * inputs must stay open.  Returns 0, or -1 with errno set.
 */
static int
input_open_both (struct compare_input *both,
                 const struct compare_input inputs[2])
{
  const struct compare_request *request = inputs[0].request;
  struct source *const sources[2] = { inputs[0].source, inputs[1].source };

  *both = (struct compare_input) { .request = request, .fd = -1 };
  if (!sources[0] || !sources[1])
    return 0;
  if (pair_open (&request->hash.source,
                 blkhash_opts_get_block_size (request->hash.opts), sources,
                 &both->source) == -1)
    return errno == ENOTSUP ? 0 : -1;
  both->size = both->source->size;
  return 0;
}

static bool
is_pipe (const struct compare_input *input, struct stat *st)
{
  const char *path = job_manifest_path (input->operand);
  int r = job_manifest_is_stdin (input->operand)
    ? fstat (STDIN_FILENO, st) : stat (path ? path : input->operand, st);

  return r == 0 && (S_ISFIFO (st->st_mode) || S_ISSOCK (st->st_mode));
}

/* Returns true if both inputs are the same pipe: each input would get only a
 * part of the data.
 */
static bool
input_is_same_pipe (const struct compare_input *a,
                    const struct compare_input *b)
{
  struct stat st_a, st_b;

  return is_pipe (a, &st_a) && is_pipe (b, &st_b) && same_file (&st_a, &st_b);
}

static void
input_close (struct compare_input *input)
{
  if (input->source)
    source_close (input->source);
  blkhash_manifest_reader_free (input->reader);
  if (input->fd != -1)
    close (input->fd);
}

/* ---- The leaves of an input ---- */

/* The block in which an image ends must be comparable with the same block of
 * OTHER, which may be longer.  So the block is padded with zeros.  But if OTHER
 * is a manifest, zeros are appended only up to the size in the manifest: the
 * last block there may be short, and only the digest of that block is known.
 */
static struct padding
choose_padding (const struct compare_input *other, uint32_t block_size)
{
  return other->source ? (struct padding) { .to_unit = block_size }
    : (struct padding) { .to_unit = 1, .to_size = other->size };
}

static struct leaf_runs *
start_image (struct compare_input *input, struct image_group *group,
             const struct progress *progress)
{
  const struct scan_request request = {
    .opts = input->opts,
    .progress = progress,
    .selection = input->selection,
    .padding = choose_padding (input->other,
                               blkhash_opts_get_block_size (input->opts)),
  };

  return image_runs_open (&input->image, input->source, &request, group,
                          &input->error) == 0 ? &input->image.runs : NULL;
}

/* A manifest is read to its end, because its sum is that of all leaves. */
static struct leaf_runs *
start_manifest (struct compare_input *input, const struct progress *progress)
{
  manifest_runs_init (&input->manifest, input->reader, NULL, input->size,
                      progress, &input->error);
  return &input->manifest.runs;
}

/* Start to read the leaves of INPUT, with the hash parameters OPTS.  The caller
 * compares them with the leaves of OTHER.  So the end of an image is padded,
 * depending on the size of OTHER, and on whether OTHER is an image or a
 * manifest.  If both are images, they are hashed in the same GROUP.  If INPUT
 * is from input_open_both, OTHER is one of the two images, and GROUP is NULL.
 * PROGRESS is NULL if only OTHER reports the progress.  Returns an iterator
 * that is a part of INPUT; or NULL with the reason in INPUT: then input_stop
 * must not be called.
 */
static struct leaf_runs *
input_start (struct compare_input *input, const struct blkhash_opts *opts,
             const struct compare_input *other, struct image_group *group,
             const struct progress *progress)
{
  input->opts = opts;
  input->other = other;
  return input->source ? start_image (input, group, progress)
                       : start_manifest (input, progress);
}

/* Stop reading; the iterator must not be used any more.  Sets the size of a
 * pipe that has ended.
 */
static void
input_stop (struct compare_input *input)
{
  if (input->source) {
    image_runs_close (&input->image);
    input->size = input->source->size;
  }
}

/* Returns true for a manifest that was read to its end with a part, and then
 * had another sum than when it was verified.
 */
static bool
input_has_changed (const struct compare_input *input)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len;

  return input->reader && input->request->part.n > 0 &&
    blkhash_manifest_reader_sum (input->reader, md, &len) == 0 &&
    memcmp (input->md, md, len) != 0;
}

/* ---- The digest and the block size ---- */

struct compare_params {
  const struct blkhash_opts *opts;
  struct blkhash_opts *owned;   /* to be freed, or NULL */
};

static const struct blkhash_opts *
manifest_opts (const struct compare_input *input)
{
  return input->reader ? blkhash_manifest_reader_opts (input->reader) : NULL;
}

static int
refuse_params (const struct blkhash_opts *a, const struct blkhash_opts *b,
               struct error *error)
{
  char tag_a[BLKHASH_MAX_TAG_SIZE], tag_b[BLKHASH_MAX_TAG_SIZE];

  blkhash_opts_get_tag (a, tag_a, sizeof tag_a);
  blkhash_opts_get_tag (b, tag_b, sizeof tag_b);
  return error_set (error, "it is a manifest of %s, which cannot be compared "
                    "with %s", tag_a, tag_b);
}

/* Check that OPTS, those of a manifest, have the digest and the block size that
 * the user chose, if any.
 */
static int
check_fixed (const struct hash_request *request,
             const struct blkhash_opts *opts, struct error *error)
{
  struct blkhash_opts *fixed = job_manifest_fixed_params (request, opts);
  int r = !fixed ? error_errno (error, errno, "cannot compare")
    : leaves_are_comparable (opts, fixed) ? 0
    : refuse_params (opts, fixed, error);

  blkhash_opts_free (fixed);
  return r;
}

/* Refuse a digest of length zero, such as "null": all its leaves are equal. */
static int
check_length (const struct blkhash_opts *opts, struct error *error)
{
  if (blkhash_opts_get_digest_size (opts) == 0)
    return error_set (error, "cannot be compared by a digest whose length is "
                      "zero");
  return 0;
}

/* Returns options with DIGEST and the block size of OPTS; or OPTS if DIGEST is
 * not available.
 */
static const struct blkhash_opts *
new_opts (struct compare_params *params, const struct blkhash_opts *opts,
          const char *digest)
{
  params->owned = blkhash_opts_new (digest);
  if (!params->owned ||
      blkhash_opts_set_block_size (params->owned,
                                   blkhash_opts_get_block_size (opts)) != 0)
    return opts;
  return params->owned;
}

/* The digests of two images are not printed, so the fastest suitable digest is
 * used.  If BOTH has a source, the bytes of the images are compared, not their
 * leaves, so any digest is suitable.  Otherwise, unless the user chose a
 * digest, it must be as hard to forge as the default.  On the measured CPU,
 * which has no instructions for SHA-256, blake3 takes two thirds of the time of
 * SHA-256.
 */
static const struct blkhash_opts *
images_opts (struct compare_params *params, const struct hash_request *request,
             const struct compare_input *both)
{
  if (both->source)
    return new_opts (params, request->opts, "xxh3-128");
  return request->digest_fixed ? request->opts
                               : new_opts (params, request->opts, "blake3");
}

/* If one of the two INPUTS is a manifest, select its digest and block size.  It
 * is an error if two manifests differ in these, or if the user chose another
 * digest or another block size.  For two images, select the block size of the
 * options, and the digest that the user chose.  If the user chose none, or if
 * the bytes are compared because BOTH has a source, select the fastest suitable
 * digest.  BOTH is the result of input_open_both.  Returns 0, or -1 with the
 * reason, which is about inputs[*FAILED].  PARAMS must be freed either way.
 */
static int
params_choose (struct compare_params *params,
               const struct compare_input *inputs,
               const struct compare_input *both, unsigned *failed,
               struct error *error)
{
  const struct hash_request *request = &inputs[0].request->hash;
  unsigned i;

  *params = (struct compare_params) { 0 };
  *failed = 0;
  if (request->digest_fixed && check_length (request->opts, error) == -1)
    return -1;
  if (!manifest_opts (&inputs[0]) && !manifest_opts (&inputs[1]))
    params->opts = images_opts (params, request, both);
  for (i = 0; i < 2; i++) {
    const struct blkhash_opts *opts = manifest_opts (&inputs[i]);

    *failed = i;
    if (!opts)
      continue;
    if (check_fixed (request, opts, error) == -1)
      return -1;
    if (params->opts && !leaves_are_comparable (opts, params->opts))
      return refuse_params (opts, params->opts, error);
    params->opts = opts;
  }
  return check_length (params->opts, error);
}

/* ---- The comparison ---- */

struct compare {
  const struct compare_request *request;
  struct difference *difference;
  struct compare_input input[2];
  struct compare_input both;    /* both inputs as one image; its source is
                                 * NULL if they are separate */
  struct compare_input *failed; /* the input that failed, or NULL */
  struct compare_params params;
  struct selection part;        /* with a part: the bytes to read */
  struct leaf_diff diff;
  struct blkhash_manifest_run last; /* the last range that differs, without
                                     * leaves, if COUNT is not 0 */
  const struct progress *progress;
};

/* ---- Sizes ---- */

/* Returns the index of the last block of a manifest if this block is short, and
 * the other input is longer; otherwise LEAF_DIFF_NO_BLOCK.  A pipe whose size
 * is not known yet counts as longer.
 */
static uint64_t
tail_block (const struct compare *compare)
{
  int i;

  for (i = 0; i < 2; i++) {
    const struct compare_input *input = &compare->input[i];
    uint32_t block_size = blkhash_opts_get_block_size (compare->params.opts);

    if (input->reader && compare->input[!i].size > input->size &&
        input->size % block_size != 0)
      return input->size / block_size;
  }
  return LEAF_DIFF_NO_BLOCK;
}

/* Limit the comparison to the part of --part, if there is one. */
static int
choose_part (struct compare *compare, const char **operand,
             struct error *error)
{
  const struct compare_request *request = compare->request;
  const struct part *part = &request->part;
  struct difference *difference = compare->difference;
  const uint64_t *size = difference->size;
  uint32_t block_size = blkhash_opts_get_block_size (compare->params.opts);
  uint64_t first, count;

  if (part->n == 0)
    return 0;
  *operand = request->operands[1];
  if (size[0] != size[1])
    return error_size (error, size[1], request->operands[0], size[0]);
  part_blocks (part, size[0], block_size, &first, &count);
  difference->part_is_empty = count == 0;
  if (count == 0)
    return error_set (error, "not checked: part %" PRIu32 "/%" PRIu32 " of %"
                      PRIu64 " bytes is empty", part->i, part->n, size[0]);
  difference->compared_bytes =
    part_offset (first + count, size[0], block_size) -
    part_offset (first, size[0], block_size);
  compare->diff.begin = first;
  compare->diff.end = first + count;
  compare->part = selection_of_blocks (first, count, size[0], block_size);
  compare->input[0].selection = compare->input[1].selection =
    compare->both.selection = &compare->part;
  return 0;
}

/* ---- Ranges that differ ---- */

/* Report the blocks of RANGE as different. */
static int
report_range (struct compare *compare, const struct blkhash_manifest_run *range)
{
  const struct compare_request *request = compare->request;
  struct difference *difference = compare->difference;
  uint32_t block_size = blkhash_opts_get_block_size (compare->params.opts);
  uint64_t size = MAX (difference->size[0], difference->size[1]);
  uint64_t start = range->first * block_size;
  uint64_t length = leaf_run_bytes (range, size, block_size);

  if (difference->nr_ranges++ == 0) {
    difference->first = start;
    difference->first_length = length;
  }
  return request->report
    ? request->report (request->opaque, difference, start, length) : 0;
}

/* Compare the leaves of A and B, and report all ranges but the last, which is
 * reported when the inputs were checked.  If only the first difference is of
 * interest, no range is reported.
 */
static int
diff_runs (struct compare *compare, struct leaf_runs *a, struct leaf_runs *b)
{
  struct leaf_diff *diff = &compare->diff;
  struct blkhash_manifest_run range = { .count = 0 };
  int err;

  diff->inputs[0].runs = a;
  diff->inputs[1].runs = b;
  while ((err = leaf_diff_next (diff, &range.first, &range.count)) == 0 &&
         !diff->first_only && !diff->ended) {
    err = report_range (compare, &range);
    if (err)
      return err;
  }
  if (err == 0 && !diff->first_only)
    compare->last = range;
  return err == ENOENT ? 0 : err;
}

/* ---- Both inputs ---- */

/* Reading an image takes most of the time, so images report the progress; a
 * manifest reports it only if both inputs are manifests.
 */
static bool
reports_progress (const struct compare *compare, int i)
{
  return compare->input[i].source || !compare->input[!i].source;
}

static int
no_leaves (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  (void) runs;
  (void) run;
  return ENOENT;
}

/* Compare BOTH, the combined image of the two inputs, with an empty image. */
static int
diff_both (struct compare *compare)
{
  struct compare_input *both = &compare->both;
  struct leaf_runs nothing = { .next = no_leaves };
  struct leaf_runs *runs = input_start (both, compare->params.opts,
                                        &compare->input[1], NULL,
                                        compare->progress);
  int err = runs ? diff_runs (compare, runs, &nothing) : ECANCELED;
  bool failed = err && (!runs || compare->diff.failed == 0);

  if (runs)
    input_stop (both);
  if (failed) {
    compare->failed = &compare->input[pair_failed (both->source)];
    error_copy (&compare->failed->error, &both->error);
  }
  return err;
}

/* Compare the leaves of both inputs.  If one fails, the other one is stopped,
 * and has no error.
 */
static int
diff_inputs (struct compare *compare)
{
  struct leaf_runs *runs[2] = { NULL, NULL };
  struct image_group group;
  int i, err = 0;

  image_group_init (&group);
  for (i = 0; i < 2 && err == 0; i++) {
    runs[i] = input_start (&compare->input[i], compare->params.opts,
                           &compare->input[!i], &group,
                           reports_progress (compare, i) ? compare->progress
                                                         : NULL);
    err = runs[i] ? 0 : ECANCELED;
  }
  if (err == 0)
    err = diff_runs (compare, runs[0], runs[1]);
  for (i = 0; i < 2; i++) {
    if (runs[i])
      input_stop (&compare->input[i]);
    if (err && !compare->failed && error_is_set (&compare->input[i].error))
      compare->failed = &compare->input[i];
  }
  image_group_destroy (&group);
  return err;
}

/* Returns true if only a part of the inputs is compared. */
static bool
is_partial (const struct compare *compare)
{
  return compare->request->size != SOURCE_WHOLE ||
    compare->request->part.n > 0;
}

static bool
sums_match (const struct compare *compare)
{
  const struct compare_input *a = &compare->input[0], *b = &compare->input[1];

  return !a->reader || !b->reader || is_partial (compare) ||
    manifest_diff_fits_sums (a->reader, b->reader, compare->diff.any);
}

static int
finish (struct compare *compare, int err, const char **operand,
        struct error *error)
{
  struct difference *difference = compare->difference;
  struct leaf_diff *diff = &compare->diff;

  if (compare->failed) {
    *operand = compare->failed->operand;
    error_copy (error, &compare->failed->error);
    return -1;
  }
  *operand = compare->input[0].operand;
  difference->size[0] = compare->input[0].size;
  difference->size[1] = compare->input[1].size;
  for (int i = 0; i < 2; i++)
    if (compare->input[i].source)
      difference->first_bytes[i] = compare->input[i].source->first;
  difference->trailing[0] = compare->input[0].trailing;
  difference->trailing[1] = compare->input[1].trailing;
  /* tail_block can return another result now: the size of a pipe is known. */
  difference->differ = diff->any ||
    (diff->tail_unknown && tail_block (compare) == LEAF_DIFF_NO_BLOCK) ||
    (compare->request->same_size && difference->size[0] != difference->size[1]);
  if (diff->tail_unknown && !difference->differ)
    return error_set (error, "cannot decide whether it is identical to the "
                      "other: the shorter one ends within a block of data, of "
                      "which its manifest has only the digest");
  for (int i = 0; i < 2; i++)
    if (err == 0 && input_has_changed (&compare->input[i])) {
      *operand = compare->input[i].operand;
      return error_set (error, "it was modified while it was read");
    }
  if (err == 0 && !sums_match (compare))
    return error_set (error, "the sum of this manifest or of the other does "
                      "not match its leaves");
  if (compare->request->part.n == 0)
    difference->compared_bytes = MAX (difference->size[0], difference->size[1]);
  if (err == 0 && difference->differ && compare->last.count > 0)
    err = report_range (compare, &compare->last);
  return err ? error_errno (error, err, "cannot compare") : 0;
}

/* Returns the number of bytes for the progress.  A pipe is assumed to have the
 * size of the other input.
 */
static uint64_t
total_bytes (const struct compare *compare)
{
  uint64_t total = 0, part = compare->part.end - compare->part.start;
  int i;

  if (compare->both.source)
    return part > 0 ? part : compare->both.size;
  for (i = 0; i < 2; i++) {
    uint64_t size = compare->input[i].size;

    if (size == SOURCE_SIZE_UNKNOWN)
      size = compare->input[!i].size;
    if (size == SOURCE_SIZE_UNKNOWN)
      return PROGRESS_NO_SIZE;
    if (reports_progress (compare, i))
      total += part > 0 && compare->input[i].source ? part : size;
  }
  return total;
}

static int
compare_inputs (struct compare *compare, const char **operand,
                struct error *error)
{
  uint64_t *size = compare->difference->size;
  unsigned failed;
  int err, r;

  if (input_open_both (&compare->both, compare->input) == -1)
    return error_errno (error, errno, "cannot compare");
  if (params_choose (&compare->params, compare->input, &compare->both,
                     &failed, error) == -1) {
    *operand = compare->input[failed].operand;
    return -1;
  }
  size[0] = compare->input[0].size;
  size[1] = compare->input[1].size;
  compare->diff = (struct leaf_diff) {
    .tail = tail_block (compare),
    .report_tail = true, .first_only = compare->request->first_only
  };
  if (choose_part (compare, operand, error) == -1)
    return -1;
  if (compare->request->begin)
    compare->request->begin (compare->request->opaque, compare->difference);
  if (compare->request->same_size && size[0] != size[1] &&
      size[0] != SOURCE_SIZE_UNKNOWN && size[1] != SOURCE_SIZE_UNKNOWN) {
    compare->difference->differ = true;
    return 0;
  }
  compare->progress = progress_begin (&compare->request->hash.progress,
                                      total_bytes (compare));
  err = compare->both.source ? diff_both (compare) : diff_inputs (compare);
  r = finish (compare, err, operand, error);
  /* With diff.first_only the comparison, and so the progress, ends at the first
   * difference.
   */
  progress_end (compare->progress,
                r == 0 && (!compare->diff.first_only || !compare->diff.any));
  return r;
}

int
job_compare (const struct compare_request *request,
             struct difference *difference, const char **operand,
             struct error *error)
{
  struct compare compare = {
    .request = request, .difference = difference,
    .input = { { .fd = -1 }, { .fd = -1 } }, .both = { .fd = -1 }
  };
  const char *const *operands = request->operands;
  /* If two manifests are compared completely, sums_match checks their sums. */
  bool check_sum = !job_manifest_path (operands[0]) ||
    !job_manifest_path (operands[1]) || is_partial (&compare);
  int i, r = 0;

  *difference = (struct difference) { .differ = false };
  *operand = operands[0];
  if (job_manifest_is_stdin (operands[0]) &&
      job_manifest_is_stdin (operands[1]))
    return error_set (error, "standard input cannot be both images");
  for (i = 0; i < 2 && r == 0; i++) {
    *operand = operands[i];
    r = input_open (&compare.input[i], request, i, check_sum);
    if (r == -1)
      error_copy (error, &compare.input[i].error);
  }
  if (r == 0 && input_is_same_pipe (&compare.input[0], &compare.input[1]))
    r = error_set (error, "a pipe cannot be both images");
  if (r == 0)
    r = compare_inputs (&compare, operand, error);
  input_close (&compare.both);
  input_close (&compare.input[0]);
  input_close (&compare.input[1]);
  blkhash_opts_free (compare.params.owned);
  return r;
}
