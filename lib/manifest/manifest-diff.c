/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Both manifests are read in parallel, one record at a time, so memory does not
 * grow with the images.  The constructions can differ, because a leaf does not
 * depend on the construction.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "blkhash-manifest.h"
#include "construction/opts.h"
#include "manifest/leaf-diff.h"
#include "manifest/leaf-runs.h"
#include "manifest/manifest-diff.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest-reader.h"

struct input {
  struct leaf_runs runs;
  struct blkhash_manifest_reader *reader;
  const struct manifest_header *header;
};

struct diff {
  struct input a, b;
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

/* ---- What can be compared ---- */

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

/* ---- The comparison ---- */

static int
next_run (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  return blkhash_manifest_reader_next (((struct input *) runs)->reader, run);
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
  diff.size = diff.a.header->size > diff.b.header->size
    ? diff.a.header->size : diff.b.header->size;
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
