/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash-manifest.h"
#include "common/util.h"
#include "construction/opts.h"
#include "manifest/manifest-diff.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest-reader.h"

/* ---- Two iterators ----
 *
 * Each image has a current run.  The blocks at the start of both runs that are
 * all equal, or all different, are a segment, which is removed from the runs;
 * an empty run is replaced by the next one of its iterator.  A segment of
 * different blocks is kept until it is known whether the next one is adjacent
 * to it.
 */

/* Returns TAIL of struct leaf_diff.  Sizes are in bytes. */
static uint64_t
leaf_diff_tail (uint64_t size_a, uint64_t size_b, uint32_t block_size)
{
  uint64_t size = MIN (size_a, size_b);

  return size_a != size_b && size % block_size ? size / block_size
                                               : LEAF_DIFF_NO_BLOCK;
}

/* Read the next run of each image that has not ended and whose current run is
 * empty.
 */
static int
read_on (struct leaf_diff *diff)
{
  int i, err;

  for (i = 0; i < 2; i++) {
    struct leaf_diff_input *input = &diff->inputs[i];

    if (input->ended || input->run.count > 0)
      continue;
    err = input->runs->next (input->runs, &input->run);
    if (err && err != ENOENT) {
      diff->failed = i;
      return err;
    }
    input->ended = err == ENOENT;
  }
  diff->ended = diff->inputs[0].ended && diff->inputs[1].ended;
  return 0;
}

enum verdict { EQUAL, DIFFERENT, UNKNOWN };

struct segment {
  uint64_t first, count;
  enum verdict verdict;         /* of each of its blocks */
};

/* Compare the leaves of block I of both runs, which are data. */
static enum verdict
compare_block (const struct leaf_diff *diff,
               const struct blkhash_manifest_run *a,
               const struct blkhash_manifest_run *b, uint64_t i)
{
  size_t size = a->leaf_size;

  if (memcmp (a->leaves + i * size, b->leaves + i * size, size) == 0)
    return EQUAL;
  return a->first + i == diff->tail ? UNKNOWN : DIFFERENT;
}

/* Find the first segment of COUNT blocks, which are data in both runs. */
static struct segment
compare_data (const struct leaf_diff *diff,
              const struct blkhash_manifest_run *a,
              const struct blkhash_manifest_run *b, uint64_t count)
{
  struct segment segment = { .first = a->first, .count = count };

  if (memcmp (a->leaves, b->leaves, count * a->leaf_size) == 0)
    return segment;
  segment.verdict = compare_block (diff, a, b, 0);
  segment.count = 1;
  while (segment.count < count &&
         compare_block (diff, a, b, segment.count) == segment.verdict)
    segment.count++;
  return segment;
}

/* Find the first segment of the current runs.  If one image has ended, the run
 * of the other is compared with zeros.
 */
static struct segment
compare_runs (const struct leaf_diff *diff)
{
  const struct blkhash_manifest_run *a = &diff->inputs[0].run;
  const struct blkhash_manifest_run *b = &diff->inputs[1].run;
  struct segment segment = { .first = a->first };
  bool data_a = !diff->inputs[0].ended && a->leaves;
  bool data_b = !diff->inputs[1].ended && b->leaves;

  if (data_a && data_b)
    return compare_data (diff, a, b, MIN (a->count, b->count));
  if (diff->inputs[0].ended)
    segment.first = b->first, segment.count = b->count;
  else if (diff->inputs[1].ended)
    segment.count = a->count;
  else
    segment.count = MIN (a->count, b->count);
  segment.verdict = data_a || data_b ? DIFFERENT : EQUAL;
  return segment;
}

/* Remove the blocks of SEGMENT from the current runs. */
static void
skip (struct leaf_diff *diff, const struct segment *segment)
{
  int i;

  for (i = 0; i < 2; i++)
    if (!diff->inputs[i].ended)
      leaf_run_skip (&diff->inputs[i].run, segment->count);
}

/* Record the result of SEGMENT, and limit it to the blocks to return. */
static void
judge (struct leaf_diff *diff, struct segment *segment)
{
  uint64_t start = MAX (segment->first, diff->begin);
  uint64_t end = segment->first + segment->count;

  if (segment->verdict == UNKNOWN) {
    diff->tail_unknown = true;
    segment->count = diff->report_tail;
    return;
  }
  if (diff->end > 0 && end > diff->end)
    end = diff->end;
  if (segment->verdict == EQUAL || start >= end) {
    segment->count = 0;
    return;
  }
  segment->first = start;
  segment->count = end - start;
  diff->any = true;
}

/* Store the range that is not returned yet.  Returns 0, or ENOENT if there is
 * none.
 */
static int
take_range (struct leaf_diff *diff, uint64_t *first, uint64_t *count)
{
  if (diff->count == 0)
    return ENOENT;
  *first = diff->first;
  *count = diff->count;
  diff->count = 0;
  return 0;
}

/* Append SEGMENT to the range that is not returned yet.  If they are not
 * adjacent, that range is stored, and SEGMENT takes its place; then this
 * returns 0, otherwise ENOENT.
 */
static int
add (struct leaf_diff *diff, const struct segment *segment, uint64_t *first,
     uint64_t *count)
{
  int err = ENOENT;

  if (diff->first + diff->count != segment->first) {
    err = take_range (diff, first, count);
    diff->first = segment->first;
  }
  diff->count += segment->count;
  return err;
}

int
leaf_diff_next (struct leaf_diff *diff, uint64_t *first, uint64_t *count)
{
  const struct leaf_diff_input *inputs = diff->inputs;
  struct segment segment;
  int err;

  diff->failed = -1;
  for (;;) {
    err = read_on (diff);
    if (err)
      return err;
    if (diff->ended)
      return take_range (diff, first, count);
    if (!inputs[0].ended && !inputs[1].ended &&
        inputs[0].run.first != inputs[1].run.first)
      return EINVAL;            /* leaves of different blocks */
    segment = compare_runs (diff);
    skip (diff, &segment);
    judge (diff, &segment);
    if (segment.count > 0 && add (diff, &segment, first, count) == 0)
      return 0;
    if (diff->first_only && diff->any)
      return take_range (diff, first, count);
  }
}

/* ---- Two manifests ----
 *
 * Both manifests are read in parallel, one record at a time, so memory does not
 * grow with the images.  The constructions can differ, because a leaf does not
 * depend on the construction.
 */

struct diff_operand {
  struct leaf_runs runs;
  struct blkhash_manifest_reader *reader;
};

struct blkhash_manifest_differ {
  struct diff_operand a, b;
  struct leaf_diff leaves;
  uint64_t size;                /* bytes of the larger image */
  uint32_t block_size;
  int err;                      /* the first error, or ENOENT after the end */
};

/* Store the reason for ERR in both readers. */
static int
fail (struct blkhash_manifest_reader *a, struct blkhash_manifest_reader *b,
      int err, const char *why)
{
  manifest_reader_set_error (a, err, "%s", why);
  return manifest_reader_set_error (b, err, "%s", why);
}

/* A block of which only one manifest has the leaf cannot be compared.  So if
 * the images have the same size, both manifests must have the same blocks; if
 * the sizes differ, each manifest must have all blocks of its image.
 */
static bool
have_same_blocks (const struct manifest_header *a,
                  const struct manifest_header *b)
{
  if (a->size == b->size)
    return a->first == b->first && a->count == b->count;
  return manifest_is_complete (a) && manifest_is_complete (b);
}

static int
check (struct blkhash_manifest_reader *a, struct blkhash_manifest_reader *b)
{
  if (!manifest_reader_is_fresh (a) || !manifest_reader_is_fresh (b) || a == b)
    return fail (a, b, EINVAL, "two readers are needed that have read nothing "
                 "but the headers");
  if (!leaves_are_comparable (a->header.opts, b->header.opts))
    return fail (a, b, EINVAL, "the manifests have different digests or "
                 "block sizes");
  if (!have_same_blocks (&a->header, &b->header))
    return fail (a, b, EINVAL, "the manifests are of different parts");
  if (a->leaf_size == 0)
    return fail (a, b, EINVAL, "the digest null cannot show which blocks "
                 "differ");
  return 0;
}

static int
next_run (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  const struct diff_operand *manifest = (struct diff_operand *) runs;

  return blkhash_manifest_reader_next (manifest->reader, run);
}

/* The sums are compared in addition to the leaves, because a reader with
 * BLKHASH_MANIFEST_NO_SUM does not check that the sum is that of the leaves.
 */
bool
manifest_diff_fits_sums (const struct blkhash_manifest_reader *a,
                         const struct blkhash_manifest_reader *b, bool differ)
{
  unsigned char md_a[BLKHASH_MAX_MD_SIZE], md_b[BLKHASH_MAX_MD_SIZE];
  unsigned len;

  if (blkhash_manifest_reader_size (a) != blkhash_manifest_reader_size (b) ||
      !blkhash_opts_same_hash (blkhash_manifest_reader_opts (a),
                               blkhash_manifest_reader_opts (b)) ||
      blkhash_manifest_reader_sum (a, md_a, &len) != 0 ||
      blkhash_manifest_reader_sum (b, md_b, &len) != 0)
    return true;
  return (memcmp (md_a, md_b, len) == 0) != differ;
}

/* D must not be moved: it has pointers to itself. */
static int
differ_init (struct blkhash_manifest_differ *d,
             struct blkhash_manifest_reader *a,
             struct blkhash_manifest_reader *b)
{
  uint64_t size_a = a->header.size, size_b = b->header.size;
  int err = check (a, b);

  if (err)
    return err;
  *d = (struct blkhash_manifest_differ) {
    .a = { .runs.next = next_run, .reader = a },
    .b = { .runs.next = next_run, .reader = b },
    .leaves.inputs = { { .runs = &d->a.runs }, { .runs = &d->b.runs } },
    .size = MAX (size_a, size_b), .block_size = a->header.opts->block_size
  };
  d->leaves.tail = leaf_diff_tail (size_a, size_b, d->block_size);
  return 0;
}

struct blkhash_manifest_differ *
blkhash_manifest_differ_new (struct blkhash_manifest_reader *a,
                             struct blkhash_manifest_reader *b)
{
  struct blkhash_manifest_differ *d = malloc (sizeof *d);
  int err = d ? differ_init (d, a, b) : fail (a, b, ENOMEM, strerror (ENOMEM));

  if (err == 0)
    return d;
  free (d);
  errno = err;
  return NULL;
}

void
blkhash_manifest_differ_free (struct blkhash_manifest_differ *d)
{
  int err = errno;

  free (d);
  errno = err;
}

/* Clear the error text of a reader that did not fail.  FAILED is that of struct
 * leaf_diff.
 */
static void
clear_reasons (const struct blkhash_manifest_differ *d, int failed)
{
  if (failed != 0)
    manifest_reader_set_error (d->a.reader, 0, "%s", "");
  if (failed != 1)
    manifest_reader_set_error (d->b.reader, 0, "%s", "");
}

/* Returns the result after the last range. */
static int
finish (struct blkhash_manifest_differ *d)
{
  struct blkhash_manifest_reader *a = d->a.reader, *b = d->b.reader;

  if (!manifest_diff_fits_sums (a, b, d->leaves.any))
    return fail (a, b, EBADMSG, "the sum of this manifest or of the other "
                 "is not that of its leaves");
  if (d->leaves.tail_unknown)
    return fail (a, b, ENODATA, "the smaller image ends within a block of "
                 "data, and a digest does not show whether it is the same");
  return ENOENT;
}

int
blkhash_manifest_differ_next (struct blkhash_manifest_differ *d,
                              uint64_t *start, uint64_t *len)
{
  struct blkhash_manifest_run range = { .count = 0 };

  if (d->err)
    return d->err;
  d->err = leaf_diff_next (&d->leaves, &range.first, &range.count);
  if (d->err == 0) {
    *start = range.first * d->block_size;
    *len = leaf_run_bytes (&range, d->size, d->block_size);
  }
  else if (d->err == ENOENT)
    d->err = finish (d);
  else
    clear_reasons (d, d->leaves.failed);
  return d->err;
}

int
blkhash_manifest_diff (struct blkhash_manifest_reader *a,
                       struct blkhash_manifest_reader *b,
                       int (*differ) (void *opaque, uint64_t start,
                                      uint64_t len),
                       void *opaque)
{
  struct blkhash_manifest_differ d;
  uint64_t start, len;
  int err = differ_init (&d, a, b);

  if (err)
    return err;
  while ((err = blkhash_manifest_differ_next (&d, &start, &len)) == 0) {
    err = differ (opaque, start, len);
    if (err) {
      clear_reasons (&d, -1);
      return err;
    }
  }
  return err == ENOENT ? 0 : err;
}
