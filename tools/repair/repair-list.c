/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The manifest of a repair, a block, and the first pass, which lists the bad
 * blocks: see repair-private.h.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/common/strata.h"
#include "../lib/common/sums.h"
#include "../lib/common/util.h"
#include "../lib/digest/digest.h"
#include "../lib/manifest/manifest-diff.h"
#include "../lib/manifest/manifest-index.h"
#include "blkhash-manifest.h"
#include "blkhash.h"
#include "job/image-runs.h"
#include "job/job.h"
#include "job/manifest-operand.h"
#include "repair/repair-private.h"
#include "repair/repair.h"
#include "repair/target.h"
#include "util/error.h"

/* ---- A block ---- */

struct block_check {
  const struct block_expected *expected;
  bool good;
};

static int
check_data (void *opaque, uint64_t index, size_t count,
            const unsigned char *leaves, size_t leaf_size)
{
  struct block_check *check = opaque;

  (void) index; (void) count;
  check->good = !check->expected->zero &&
    memcmp (leaves, check->expected->leaf, leaf_size) == 0;
  return 0;
}

static int
check_zeros (void *opaque, uint64_t index, uint64_t count)
{
  struct block_check *check = opaque;

  (void) index; (void) count;
  check->good = check->expected->zero;
  return 0;
}

int
block_check (const struct blkhash_opts *opts, const void *buf, size_t len,
             const struct block_expected *expected, bool *good)
{
  struct block_check check = { .expected = expected };
  const struct blkhash_leaf_sink sink = {
    .data = check_data, .zero = check_zeros, .opaque = &check
  };
  struct blkhash_leaves *leaves =
    blkhash_leaves_new (opts, len,
                        BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM);
  int err;

  if (!leaves)
    return errno;
  err = blkhash_leaves_set_sink (leaves, &sink);
  if (err == 0)
    err = blkhash_leaves_data (leaves, buf, len, 0);
  if (err == 0)
    err = blkhash_leaves_fold (leaves, NULL, NULL);
  blkhash_leaves_free (leaves);
  *good = err == 0 && check.good;
  return err;
}

/* ---- The sum of the manifest ---- */

static int
compare_sum (const struct repair_manifest *manifest,
             const struct expected_sum *expected, struct error *error)
{
  if (!blkhash_opts_same_hash (expected->opts, manifest->opts))
    return error_set (error, "its digest, block size or construction is not "
                      "that of --sum");
  if (memcmp (expected->md, manifest_index_sum (manifest->index),
              manifest->leaf_size) != 0)
    return error_set (error, "its sum is not that of --sum");
  return 0;
}

/* The expected sum is only meaningful together with its hash parameters.  Those
 * that are not given with the sum are taken from the options, as for --expect,
 * and not from the manifest.
 */
static int
check_sum (const struct repair_manifest *manifest,
           const struct repair_request *request, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];
  struct expected_sum expected;
  int r;

  if (expected_sum_parse (&expected, request->expected_sum, request->hash.opts,
                          reason) != 0)
    return error_set (error, "--sum: %s", reason);
  r = compare_sum (manifest, &expected, error);
  expected_sum_destroy (&expected);
  return r;
}

/* ---- The manifest ---- */

static int
count_data (void *opaque, const struct blkhash_manifest_run *run)
{
  struct repair_manifest *manifest = opaque;

  if (run->leaves)
    manifest->data_blocks += run->count;
  return 0;
}

/* Refuse a digest that is not cryptographic, unless nothing is written. */
static int
check_digest (const struct repair_manifest *manifest,
              const struct repair_request *request, struct error *error)
{
  const char *name = blkhash_opts_get_digest_name (manifest->opts);
  struct digest *digest = digest_create (name);
  bool is_cryptographic = digest && digest_is_cryptographic (digest);

  if (!digest)
    return error_errno (error, errno, "cannot repair");
  digest_free (digest);
  if (is_cryptographic || request->dry_run)
    return 0;
  return error_set (error, "its digest, %s, detects only accidental changes: a "
                    "source could have other content with the same digest",
                    name);
}

/* A digest of length zero is refused, because all blocks would have the same
 * leaf.
 */
static int
check (struct repair_manifest *manifest,
       const struct repair_request *request, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];

  if (job_manifest_check_params (&request->hash, manifest->opts, error) == -1)
    return -1;
  if (manifest->leaf_size == 0)
    return error_set (error, "it has a digest whose length is zero, which "
                      "proves nothing");
  if (check_digest (manifest, request, error) == -1)
    return -1;
  if (manifest_index_load (manifest->index, count_data, manifest, reason,
                           sizeof reason) != 0)
    return error_set (error, "%s", reason);
  if (strcmp (request->expected_sum, "none") == 0)
    return 0;
  return check_sum (manifest, request, error);
}

static int
read_header (struct repair_manifest *manifest, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];

  manifest->index = manifest_index_new (manifest->fd, reason, sizeof reason);
  if (!manifest->index)
    return error_set (error, "%s", reason);
  manifest->opts = manifest_index_opts (manifest->index);
  manifest->size = manifest_index_size (manifest->index);
  manifest->block_size = blkhash_opts_get_block_size (manifest->opts);
  manifest->leaf_size = blkhash_opts_get_digest_size (manifest->opts);
  return 0;
}

void
repair_manifest_close (struct repair_manifest *manifest)
{
  manifest_index_free (manifest->index);
  close (manifest->fd);
}

int
repair_manifest_open (struct repair_manifest *manifest,
                      const struct repair_request *request,
                      struct error *error)
{
  const char *path = request->manifest;

  *manifest = (struct repair_manifest) { .path = path };
  if (strcmp (path, "-") == 0)
    return error_set (error, "it is read several times, and must be a regular "
                      "file, not standard input");
  manifest->fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (manifest->fd == -1)
    return error_errno (error, errno, "cannot open");
  if (read_header (manifest, error) == 0 &&
      check (manifest, request, error) == 0)
    return 0;
  repair_manifest_close (manifest);
  return -1;
}

int
repair_manifest_get (const struct repair_manifest *manifest, uint64_t first,
                     uint64_t max, unsigned char *leaves,
                     struct blkhash_manifest_run *run, struct error *error)
{
  int err = manifest_index_get (manifest->index, first, max, leaves, run);

  if (err == 0)
    return 0;
  return error_about (error, manifest->path, "%s", err == ESTALE
                      ? "it was modified while it was used" : strerror (err));
}

/* ---- The list ---- */

/* A record of the list: the block number, whether the block is data on the disk
 * (1) or zeros (0), and its leaf.
 */
static size_t
record_size (const struct repair_list *list)
{
  return sizeof (uint64_t) + 1 + list->leaf_size;
}

/* Add BLOCK to LIST.  LEAF is its leaf on the disk, or NULL if the block is
 * zeros.
 */
static int
add_bad (struct repair_list *list, uint64_t block, const unsigned char *leaf)
{
  size_t size = record_size (list);
  unsigned char *record;

  if (list->count == list->room) {
    size_t room = MAX (2 * list->room, 64);
    void *records = room <= SIZE_MAX / size
      ? realloc (list->records, room * size) : NULL;

    if (!records)
      return ENOMEM;
    list->records = records;
    list->room = room;
  }
  record = list->records + list->count++ * size;
  memcpy (record, &block, sizeof block);
  record[sizeof block] = leaf != NULL;
  if (leaf)
    memcpy (record + sizeof block + 1, leaf, list->leaf_size);
  return 0;
}

uint64_t
repair_list_get (const struct repair_list *list, size_t i,
                 struct block_expected *found)
{
  const unsigned char *record = list->records + i * record_size (list);
  uint64_t block;

  memcpy (&block, record, sizeof block);
  *found = (struct block_expected) {
    .zero = !record[sizeof block], .leaf = record + sizeof block + 1
  };
  return block;
}

void
repair_list_free (struct repair_list *list)
{
  free (list->records);
}

/* ---- Finding the bad blocks ---- */

#define MAX_RUN 1024            /* blocks */

struct comparison {
  struct repair_list *list;
  const struct repair_manifest *manifest;
  uint64_t limit;               /* blocks */
  uint32_t share;               /* LIMIT as a share of the data blocks, in
                                 * 1/STRATA_ALL */
  unsigned char leaves[MAX_RUN * BLKHASH_MAX_MD_SIZE]; /* of the manifest */
};

/* Returns COUNT * SHARE / STRATA_ALL, without overflow. */
static uint64_t
share_of (uint64_t count, uint32_t share)
{
  return count / STRATA_ALL * share + count % STRATA_ALL * share / STRATA_ALL;
}

/* Returns the number of blocks of MANIFEST that may be bad.  At least one
 * block may be bad, unless SHARE is 0 or at most one block has data: repairing
 * a small disk must not need a limit of 100%.  If SHARE is 100%, there is no
 * limit, because there can be more bad blocks than blocks with data.
 */
static uint64_t
find_limit (const struct repair_manifest *manifest, uint32_t share)
{
  if (share == STRATA_ALL)
    return UINT64_MAX;
  if (share == 0 || manifest->data_blocks <= 1)
    return 0;
  return MAX (share_of (manifest->data_blocks, share), 1);
}

static int
check_limit (const struct comparison *compared, uint64_t read,
             struct error *error)
{
  if (compared->list->count <= compared->limit)
    return 0;
  return error_set (error, "%zu of its first %" PRIu64 " blocks %s, more than "
                    "%g%% of the %" PRIu64 " with data in the manifest: it "
                    "may be another disk; nothing was written; --limit "
                    "allows more", compared->list->count, read,
                    compared->list->count == 1 ? "differs" : "differ",
                    compared->share / (STRATA_ALL / 100.0),
                    compared->manifest->data_blocks);
}

/* Compare the first GOOD->count blocks of IMAGE with GOOD, the same blocks in
 * the manifest, and list those that differ.
 */
static int
compare_blocks (struct comparison *compared,
                const struct blkhash_manifest_run *image,
                const struct blkhash_manifest_run *good, struct error *error)
{
  size_t size = compared->list->leaf_size;
  int err;

  if (!image->leaves && !good->leaves)
    return 0;
  if (image->leaves && good->leaves &&
      memcmp (image->leaves, good->leaves, good->count * size) == 0)
    return 0;
  for (uint64_t i = 0; i < good->count; i++) {
    const unsigned char *leaf =
      image->leaves ? image->leaves + i * size : NULL;

    if (leaf && good->leaves &&
        memcmp (leaf, good->leaves + i * size, size) == 0)
      continue;
    err = add_bad (compared->list, image->first + i, leaf);
    if (err)
      return error_errno (error, err, "cannot list bad blocks");
    if (check_limit (compared, image->first + i + 1, error) == -1)
      return -1;
  }
  return 0;
}

static int
compare_run (struct comparison *compared, struct blkhash_manifest_run *image,
             struct error *error)
{
  while (image->count > 0) {
    struct blkhash_manifest_run good;

    if (repair_manifest_get (compared->manifest, image->first,
                             MIN (image->count, MAX_RUN), compared->leaves,
                             &good, error) == -1 ||
        compare_blocks (compared, image, &good, error) == -1)
      return -1;
    leaf_run_skip (image, good.count);
  }
  return 0;
}

static int
compare (struct comparison *compared, struct leaf_runs *image,
         struct error *error)
{
  struct blkhash_manifest_run run;
  int err;

  while ((err = image->next (image, &run)) == 0)
    if (compare_run (compared, &run, error) == -1)
      return -1;
  return err == ENOENT ? 0 : -1;
}

int
repair_list_make (struct repair_list *list,
                  const struct repair_manifest *manifest,
                  const struct target *target,
                  const struct repair_request *request, struct error *error)
{
  struct comparison compared = {
    .list = list, .manifest = manifest, .share = request->limit,
    .limit = find_limit (manifest, request->limit),
  };
  const struct progress *progress =
    progress_begin (&request->hash.progress, manifest->size);
  const struct scan_request image = {
    .opts = manifest->opts, .progress = progress
  };
  struct image_runs runs;
  int r;

  *list = (struct repair_list) { .leaf_size = manifest->leaf_size };
  r = image_runs_open (&runs, target->source, &image, NULL, error);
  if (r == 0) {
    r = compare (&compared, &runs.runs, error);
    image_runs_close (&runs);
  }
  progress_end (progress, r == 0);
  return r;
}
