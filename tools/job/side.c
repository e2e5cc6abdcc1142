/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One of two images that are compared: an image, which is hashed, or its
 * manifest, which is read.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "../lib/common/numbers.h"
#include "../lib/common/sum-line.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "job/manifest.h"
#include "job/meet.h"
#include "job/side.h"
#include "read/fill.h"
#include "source/open.h"
#include "source/pair.h"
#include "source/source.h"

/* ---- Opening ---- */

static int
reader_failed (struct side *side)
{
  return error_set (&side->error, "%s",
                    blkhash_manifest_reader_error (side->reader));
}

/* The image is the first bytes of that in the manifest, with --compare --size.
 * With --expect and --check the image is to be all that is in the manifest.
 */
static int
cut_manifest (struct side *side, uint32_t block_size)
{
  uint64_t size = side->options->source.size;

  if (!side->options->compare || size == SOURCE_WHOLE || size == side->size)
    return 0;
  if (side->size < size)
    return error_set (&side->error, "has only %llu bytes, fewer than the %llu "
                      "of --size", (unsigned long long) side->size,
                      (unsigned long long) size);
  if (size % block_size != 0)
    return error_set (&side->error, "has blocks of %lu bytes, and --size ends "
                      "within one, of which there is only the digest",
                      (unsigned long) block_size);
  side->follows =
    (struct follows) { FOLLOWS_ZERO, .len = side->size - size };
  side->size = size;
  return 0;
}

static int
open_manifest (struct side *side, bool check_sum)
{
  const char *path = job_manifest_path (side->operand);
  char reason[BLKHASH_MAX_REASON_SIZE];
  uint32_t block_size;

  side->fd = strcmp (path, "-") == 0
    ? fcntl (STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
    : open (path, O_RDONLY | O_CLOEXEC);
  if (side->fd == -1)
    return error_errno (&side->error, errno, "cannot open");
  side->reader =
    blkhash_manifest_reader_new (side->fd,
                                 check_sum ? 0 : BLKHASH_MANIFEST_NO_SUM,
                                 reason, sizeof reason);
  if (!side->reader)
    return error_set (&side->error, "%s", reason);
  side->size = blkhash_manifest_reader_size (side->reader);
  block_size =
    blkhash_opts_get_block_size (blkhash_manifest_reader_opts (side->reader));
  if (!blkhash_manifest_reader_is_complete (side->reader))
    return error_set (&side->error, "it is the manifest of a part of an image, "
                      "which cannot be compared");
  return cut_manifest (side, block_size);
}

static int
open_image (struct side *side)
{
  if (source_open (&side->options->source, side->operand, &side->source,
                   &side->error) == -1)
    return -1;
  side->size = side->source->size;
  if (side->source->full_size == SOURCE_SIZE_UNKNOWN &&
      side->options->subset.n > 0)
    return error_set (&side->error, "a pipe can only be read as a whole, not "
                      "with --subset");
  return 0;
}

int
side_open (struct side *side, const struct options *options,
           const char *operand, bool check_sum)
{
  int r;

  *side = (struct side) { .operand = operand, .options = options, .fd = -1 };
  r = job_manifest_path (operand) ? open_manifest (side, check_sum)
                                          : open_image (side);
  if (r == -1)
    side_close (side);
  return r;
}

int
side_open_both (struct side *both, const struct side sides[2])
{
  const struct options *options = sides[0].options;
  struct source *const sources[2] = { sides[0].source, sides[1].source };

  *both = (struct side) { .options = options, .fd = -1 };
  if (!sources[0] || !sources[1])
    return 0;
  if (pair_open (&options->source, blkhash_opts_get_block_size (options->hash),
                 sources, &both->source) == -1)
    return errno == ENOTSUP ? 0 : -1;
  both->size = both->source->size;
  return 0;
}

static bool
is_pipe (const struct side *side, struct stat *st)
{
  const char *path = job_manifest_path (side->operand);
  int r = job_manifest_is_stdin (side->options, side->operand)
    ? fstat (STDIN_FILENO, st) : stat (path ? path : side->operand, st);

  return r == 0 && (S_ISFIFO (st->st_mode) || S_ISSOCK (st->st_mode));
}

bool
side_is_same_pipe (const struct side *a, const struct side *b)
{
  struct stat st_a, st_b;

  return is_pipe (a, &st_a) && is_pipe (b, &st_b) &&
    st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

void
side_close (struct side *side)
{
  if (side->source)
    source_close (side->source);
  blkhash_manifest_reader_free (side->reader);
  if (side->fd != -1)
    close (side->fd);
}

/* ---- An image ---- */

/* As how large to hash an image of SIZE bytes: the block in which it ends is to
 * be comparable with that of the other, which may go on, so zeros follow; or
 * end there, of which there is only the digest if the other is a manifest.
 */
static uint64_t
table_size (void *opaque, uint64_t size)
{
  const struct side *side = opaque;
  uint32_t block_size = blkhash_opts_get_block_size (side->opts);
  uint64_t more = -size & (block_size - 1);

  if (side->other->source)
    return more < UINT64_MAX - size ? size + more : size;
  return MAX (size, side->other->size);
}

static int
meet_data (void *opaque, uint64_t index, size_t count,
           const unsigned char *leaves, size_t leaf_size)
{
  const struct side *side = opaque;
  const struct blkhash_manifest_run run = {
    .first = index, .count = count, .leaves = leaves, .leaf_size = leaf_size
  };

  return meet_blocks (side->meet, side->index, &run);
}

static int
meet_zeros (void *opaque, uint64_t index, uint64_t count)
{
  const struct side *side = opaque;
  const struct blkhash_manifest_run run = { .first = index, .count = count };

  return meet_blocks (side->meet, side->index, &run);
}

static void
advance (void *opaque, uint64_t len)
{
  progress_add (opaque, len);
}

static bool
is_stopped (void *opaque)
{
  return meet_is_stopped (opaque);
}

static bool
is_in_subset (void *opaque, uint64_t offset, uint64_t *len)
{
  const struct side *side = opaque;

  return subset_has (&side->options->subset, offset, len);
}

static int
fill_and_fold (struct side *side, struct blkhash_leaves *leaves)
{
  struct fill fill;
  int r, err;

  fill_init (&fill, leaves, blkhash_opts_get_block_size (side->opts));
  fill.progress = advance;
  fill.progress_opaque = side->progress;
  fill.table_size = table_size;
  fill.table_size_opaque = side;
  fill.stopped = is_stopped;
  fill.stopped_opaque = side->meet;
  if (side->options->subset.n > 0) {
    fill.wanted = is_in_subset;
    fill.wanted_opaque = side;
  }
  r = side->size > 0 ? source_fill (side->source, &fill) : 0;
  if (r == -1)
    side->error = fill.error;
  else if ((err = blkhash_leaves_fold (leaves, NULL, NULL)) != 0)
    r = error_errno (&side->error, err, "cannot hash");
  else
    r = source_check_unchanged (side->source, &side->error);
  side->size = side->source->size;
  fill_destroy (&fill);
  return r;
}

static int
run_image (struct side *side)
{
  const struct blkhash_leaf_sink sink = {
    .data = meet_data, .zero = meet_zeros, .opaque = side
  };
  uint64_t size = side->size == SOURCE_SIZE_UNKNOWN
    ? BLKHASH_SIZE_UNKNOWN : table_size (side, side->size);
  struct blkhash_leaves *leaves =
    blkhash_leaves_new (side->opts, size,
                        BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM);
  int err = leaves ? blkhash_leaves_set_sink (leaves, &sink) : errno, r;

  if (err == 0 && size != BLKHASH_SIZE_UNKNOWN)
    err = blkhash_leaves_zero (leaves, size - side->size, side->size);
  r = err ? error_errno (&side->error, err, "cannot hash")
          : fill_and_fold (side, leaves);
  blkhash_leaves_free (leaves);
  return r;
}

/* ---- A manifest ---- */

/* Bring the blocks of RUN; those that are not in the subset as zeros. */
static int
meet_subset (struct side *side, struct blkhash_manifest_run run,
             uint32_t block_size)
{
  int err = 0;

  while (run.count > 0 && err == 0) {
    struct blkhash_manifest_run part = run;
    uint64_t len, count;

    if (!subset_has (&side->options->subset, run.first * block_size, &len))
      part.leaves = NULL;
    count = len / block_size;
    if (run.leaves && count < run.count)
      part.count = count;
    err = meet_blocks (side->meet, side->index, &part);
    run.first += part.count;
    run.count -= part.count;
    if (run.leaves)
      run.leaves += part.count * run.leaf_size;
  }
  return err;
}

/* Bring the blocks of RUN that are in the image, and look at the others. */
static int
meet_run (struct side *side, struct blkhash_manifest_run run,
          uint32_t block_size)
{
  uint64_t end = side->size / block_size + (side->size % block_size != 0);
  uint64_t left = run.first < end ? end - run.first : 0;

  if (run.count > left) {
    if (run.leaves && side->follows.what == FOLLOWS_ZERO) {
      side->follows.what = FOLLOWS_BLOCK;
      side->follows.offset = (run.first + left) * block_size;
    }
    run.count = left;
  }
  if (run.count == 0)
    return 0;
  if (side->progress)
    progress_add (side->progress,
                  job_manifest_run_length (&run, side->size, block_size));
  return meet_subset (side, run, block_size);
}

static int
run_manifest (struct side *side)
{
  uint32_t block_size = blkhash_opts_get_block_size (side->opts);
  struct blkhash_manifest_run run;
  int err;

  while ((err = blkhash_manifest_reader_next (side->reader, &run)) == 0) {
    err = meet_run (side, run, block_size);
    if (err)
      return error_errno (&side->error, err, "cannot compare");
  }
  return err == ENOENT ? 0 : reader_failed (side);
}

char *
side_sum (const struct side *side)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len;

  if (!side->reader ||
      blkhash_manifest_reader_sum (side->reader, md, &len) != 0)
    return NULL;
  return sum_line (blkhash_manifest_reader_opts (side->reader), md, len, NULL,
                   true, false);
}

void *
side_run (void *arg)
{
  struct side *side = arg;
  int r = side->source ? run_image (side) : run_manifest (side);

  side->failed = r == -1 && meet_stop (side->meet);
  if (r == 0)
    meet_end (side->meet, side->index);
  return NULL;
}
