/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "blkhash-manifest.h"
#include "common/util.h"
#include "construction/opts.h"
#include "manifest/manifest-diff.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest-reader.h"

/* ---- Two iterators ----
 *
 * Each image has a current run.  Blocks that are in both runs are compared and
 * removed; an empty run is replaced by the next one of its iterator.
 */

/* Returns TAIL of struct leaf_diff.  Sizes are in bytes. */
static uint64_t
leaf_diff_tail (uint64_t size_a, uint64_t size_b, uint32_t block_size)
{
  uint64_t size = MIN (size_a, size_b);

  return size_a != size_b && size % block_size ? size / block_size
                                               : LEAF_DIFF_NO_BLOCK;
}

int
leaf_diff_flush (struct leaf_diff *diff)
{
  uint64_t count = diff->count;

  diff->count = 0;
  diff->failed = -1;
  return count > 0 ? diff->differ (diff->opaque, diff->first, count) : 0;
}

static int
add (struct leaf_diff *diff, uint64_t first, uint64_t count)
{
  int err = 0;

  if (!diff->differ)
    return 0;
  if (diff->count == 0 || diff->first + diff->count != first) {
    err = leaf_diff_flush (diff);
    diff->first = first;
  }
  diff->count += count;
  return err;
}

static int
add_differing (struct leaf_diff *diff, uint64_t first, uint64_t count)
{
  uint64_t start = MAX (first, diff->begin), end = first + count;

  if (diff->end > 0 && end > diff->end)
    end = diff->end;
  if (start >= end)
    return 0;
  diff->any = true;
  return add (diff, start, end - start);
}

static int
may_differ (struct leaf_diff *diff)
{
  diff->tail_unknown = true;
  return diff->report_tail ? add (diff, diff->tail, 1) : 0;
}

/* Compare COUNT blocks, which are data in both runs. */
static int
compare_data (struct leaf_diff *diff, const struct blkhash_manifest_run *a,
              const struct blkhash_manifest_run *b, uint64_t count)
{
  size_t size = a->leaf_size;
  uint64_t i;
  int err = 0;

  if (memcmp (a->leaves, b->leaves, count * size) == 0)
    return 0;
  for (i = 0; i < count && err == 0; i++) {
    if (memcmp (a->leaves + i * size, b->leaves + i * size, size) == 0)
      continue;
    err = a->first + i == diff->tail ? may_differ (diff)
                                     : add_differing (diff, a->first + i, 1);
  }
  return err;
}

static int
compare_both (struct leaf_diff *diff, struct blkhash_manifest_run *a,
              struct blkhash_manifest_run *b)
{
  uint64_t count = MIN (a->count, b->count);
  int err = 0;

  if (a->first != b->first) {   /* leaves of different blocks */
    diff->failed = -1;
    return EINVAL;
  }
  if (a->leaves && b->leaves)
    err = compare_data (diff, a, b, count);
  else if (a->leaves || b->leaves)
    err = add_differing (diff, a->first, count);
  leaf_run_skip (a, count);
  leaf_run_skip (b, count);
  return err;
}

/* Compare a run with zeros, because the other image has ended. */
static int
compare_alone (struct leaf_diff *diff, struct blkhash_manifest_run *run)
{
  int err = run->leaves ? add_differing (diff, run->first, run->count) : 0;

  run->count = 0;
  return err;
}

struct input {
  struct leaf_runs *runs;
  struct blkhash_manifest_run run; /* the rest of the current run */
  bool ended;
};

/* Read the next run of each image that has not ended and whose current run is
 * empty.
 */
static int
read_on (struct leaf_diff *diff, struct input inputs[2])
{
  int i, err;

  for (i = 0; i < 2; i++) {
    struct input *input = &inputs[i];

    if (input->ended || input->run.count > 0)
      continue;
    err = input->runs->next (input->runs, &input->run);
    if (err && err != ENOENT) {
      diff->failed = i;
      return err;
    }
    input->ended = err == ENOENT;
  }
  return 0;
}

int
leaf_diff (struct leaf_diff *diff, struct leaf_runs *a, struct leaf_runs *b)
{
  struct input inputs[2] = { { .runs = a }, { .runs = b } };
  struct blkhash_manifest_run *run_a = &inputs[0].run, *run_b = &inputs[1].run;
  int err;

  do {
    err = read_on (diff, inputs);
    if (err || (inputs[0].ended && inputs[1].ended))
      return err;
    if (inputs[0].ended)
      err = compare_alone (diff, run_b);
    else if (inputs[1].ended)
      err = compare_alone (diff, run_a);
    else
      err = compare_both (diff, run_a, run_b);
  } while (err == 0 && (diff->differ || !diff->any));
  return err;
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
  const struct manifest_header *header;
};

struct diff {
  struct diff_operand a, b;
  struct leaf_diff leaves;
  int (*differ) (void *opaque, uint64_t start, uint64_t len);
  void *opaque;
  uint64_t size;                /* bytes of the larger image */
  uint32_t block_size;
};

/* Store the reason for ERR in both readers. */
static int
fail (struct diff *diff, int err, const char *why)
{
  manifest_reader_set_error (diff->a.reader, err, "%s", why);
  return manifest_reader_set_error (diff->b.reader, err, "%s", why);
}

static bool
have_same_leaf_params (const struct manifest_header *a,
                       const struct manifest_header *b)
{
  return a->opts->block_size == b->opts->block_size &&
    strcmp (a->opts->digest_name, b->opts->digest_name) == 0;
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
check (struct diff *diff)
{
  const struct manifest_header *a = diff->a.header, *b = diff->b.header;

  if (!manifest_reader_is_fresh (diff->a.reader) ||
      !manifest_reader_is_fresh (diff->b.reader) ||
      diff->a.reader == diff->b.reader)
    return fail (diff, EINVAL, "two readers are needed that have read nothing "
                 "but the headers");
  if (!have_same_leaf_params (a, b))
    return fail (diff, EINVAL, "the manifests have different digests or "
                 "block sizes");
  if (!have_same_blocks (a, b))
    return fail (diff, EINVAL, "the manifests are of different parts");
  if (diff->a.reader->leaf_size == 0)
    return fail (diff, EINVAL, "the digest null cannot show which blocks "
                 "differ");
  return 0;
}

static int
next_run (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  const struct diff_operand *manifest = (struct diff_operand *) runs;

  return blkhash_manifest_reader_next (manifest->reader, run);
}

/* Report that COUNT blocks from FIRST on differ, as a range of bytes. */
static int
report_range (void *opaque, uint64_t first, uint64_t count)
{
  struct diff *diff = opaque;
  uint64_t start = first * diff->block_size, left = diff->size - start;

  return diff->differ (diff->opaque, start, count > left / diff->block_size
                                              ? left
                                              : count * diff->block_size);
}

/* Compare the leaves.  After an error, the error text of a reader that did not
 * fail is empty.
 */
static int
compare (struct diff *diff)
{
  struct leaf_diff *leaves = &diff->leaves;
  int err = leaf_diff (leaves, &diff->a.runs, &diff->b.runs);

  if (err == 0)
    err = leaf_diff_flush (leaves);
  if (err && leaves->failed != 0)
    manifest_reader_set_error (diff->a.reader, err, "%s", "");
  if (err && leaves->failed != 1)
    manifest_reader_set_error (diff->b.reader, err, "%s", "");
  return err;
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

int
blkhash_manifest_diff (struct blkhash_manifest_reader *a,
                       struct blkhash_manifest_reader *b,
                       int (*differ) (void *opaque, uint64_t start,
                                      uint64_t len),
                       void *opaque)
{
  struct diff diff = {
    .a = { .runs.next = next_run, .reader = a, .header = &a->header },
    .b = { .runs.next = next_run, .reader = b, .header = &b->header },
    .leaves = { .differ = report_range, .opaque = &diff },
    .differ = differ, .opaque = opaque,
  };
  int err = check (&diff);

  if (err)
    return err;
  diff.block_size = diff.a.header->opts->block_size;
  diff.size = MAX (diff.a.header->size, diff.b.header->size);
  diff.leaves.tail = leaf_diff_tail (diff.a.header->size, diff.b.header->size,
                                     diff.block_size);
  err = compare (&diff);
  if (err == 0 && !manifest_diff_fits_sums (a, b, diff.leaves.any))
    err = fail (&diff, EBADMSG, "the sum of this manifest or of the other "
                "is not that of its leaves");
  if (err == 0 && diff.leaves.tail_unknown)
    err = fail (&diff, ENODATA, "the smaller image ends within a block of "
                "data, and a digest does not show whether it is the same");
  return err;
}
