/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An input of a comparison: an image, which is hashed, or a manifest, which is
 * read.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/common/same-file.h"
#include "../lib/common/sums.h"
#include "blkhash-manifest.h"
#include "job/compare-input.h"
#include "job/job.h"
#include "job/manifest-operand.h"
#include "source/source.h"

/* ---- Opening ---- */

/* Limit the input to the first --size bytes of the image of the manifest. */
static int
limit_size (struct compare_input *input, uint32_t block_size)
{
  uint64_t size = input->request->size;

  if (size == SOURCE_WHOLE || size == input->size)
    return 0;
  if (input->size < size)
    return error_set (&input->error, "has only %llu bytes, fewer than the %llu "
                      "of --size", (unsigned long long) input->size,
                      (unsigned long long) size);
  if (size % block_size != 0)
    return error_set (&input->error, "has blocks of %lu bytes, and --size ends "
                      "within one, of which there is only the digest",
                      (unsigned long) block_size);
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
  const char *path = job_manifest_path (input->operand);
  char reason[BLKHASH_MAX_REASON_SIZE];
  uint32_t block_size;

  if (input->format)
    return error_set (&input->error, "this is a manifest, and -f and -F are "
                      "for images");
  input->fd = strcmp (path, "-") == 0
    ? fcntl (STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
    : open (path, O_RDONLY | O_CLOEXEC);
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

int
compare_input_open (struct compare_input *input,
                    const struct compare_request *request, int i,
                    bool check_sum)
{
  *input = (struct compare_input) {
    .operand = request->operands[i], .format = request->formats[i],
    .request = request, .fd = -1
  };
  return job_manifest_path (input->operand) ? open_manifest (input, check_sum)
                                     : open_image (input);
}

int
compare_input_open_both (struct compare_input *both,
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

bool
compare_input_is_same_pipe (const struct compare_input *a,
                            const struct compare_input *b)
{
  struct stat st_a, st_b;

  return is_pipe (a, &st_a) && is_pipe (b, &st_b) && same_file (&st_a, &st_b);
}

void
compare_input_close (struct compare_input *input)
{
  if (input->source)
    source_close (input->source);
  blkhash_manifest_reader_free (input->reader);
  if (input->fd != -1)
    close (input->fd);
}

/* ---- The leaves ---- */

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
    .wanted = input->range ? part_range_has : NULL,
    .opaque = input->range,
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

struct leaf_runs *
compare_input_start (struct compare_input *input,
                     const struct blkhash_opts *opts,
                     const struct compare_input *other,
                     struct image_group *group,
                     const struct progress *progress)
{
  input->opts = opts;
  input->other = other;
  return input->source ? start_image (input, group, progress)
                       : start_manifest (input, progress);
}

void
compare_input_stop (struct compare_input *input)
{
  if (input->source) {
    image_runs_close (&input->image);
    input->size = input->source->size;
  }
}

bool
compare_input_has_changed (const struct compare_input *input)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len;

  return input->reader && input->request->part.n > 0 &&
    blkhash_manifest_reader_sum (input->reader, md, &len) == 0 &&
    memcmp (input->md, md, len) != 0;
}
