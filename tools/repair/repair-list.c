/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first pass of a repair: list the bad blocks.
 *
 * The disk is hashed, and its leaves are compared with the leaves in the
 * manifest.  The leaves of bad blocks on the disk are kept, because the second
 * pass does not write a block that has changed since.
 *
 * If the manifest is of another disk, there are many bad blocks, and reading
 * ends at the limit.  The limit is relative to the number of blocks with data
 * in the manifest, not to the number of all blocks: two unrelated disks of 1
 * TiB with a few GiB of data each differ in a small part of all blocks, but in
 * nearly all blocks with data.  All bad blocks count against the limit,
 * including blocks with data that should be zeros.
 *
 * A read error ends the repair: a block that cannot be read could be good.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/numbers.h"
#include "../lib/common/strata.h"
#include "../lib/manifest/leaf-runs.h"
#include "../lib/manifest/manifest-index.h"
#include "leaves/image-runs.h"
#include "repair/repair-list.h"
#include "repair/repair-manifest.h"
#include "repair/target.h"
#include "util/error.h"
#include "util/request.h"

#define MAX_RUN 1024            /* blocks */

struct comparison {
  struct repair_list *list;
  const struct repair_manifest *manifest;
  uint64_t limit;               /* blocks */
  uint32_t share;               /* LIMIT as a share of the data blocks, in
                                 * 1/STRATA_ALL */
  unsigned char leaves[MAX_RUN * BLKHASH_MAX_MD_SIZE]; /* of the manifest */
};

/* ---- The list ---- */

static int
grow (struct repair_list *list)
{
  size_t room = MAX (2 * list->room, 64);
  unsigned char *records;
  uint64_t *blocks;

  if (room > SIZE_MAX / (sizeof *blocks + 1 + list->leaf_size))
    return ENOMEM;
  blocks = realloc (list->blocks, room * sizeof *blocks);
  if (!blocks)
    return ENOMEM;
  list->blocks = blocks;
  records = realloc (list->records, room * (1 + list->leaf_size));
  if (!records)
    return ENOMEM;
  list->records = records;
  list->room = room;
  return 0;
}

/* Add BLOCK to LIST.  LEAF is its leaf on the disk, or NULL if the block is
 * zeros.
 */
static int
add_bad (struct repair_list *list, uint64_t block, const unsigned char *leaf)
{
  int err = list->count == list->room ? grow (list) : 0;
  unsigned char *record;

  if (err)
    return err;
  record = list->records + list->count * (1 + list->leaf_size);
  record[0] = leaf != NULL;
  if (leaf)
    memcpy (record + 1, leaf, list->leaf_size);
  list->blocks[list->count++] = block;
  return 0;
}

struct block_expected
repair_list_found (const struct repair_list *list, size_t i)
{
  const unsigned char *record = list->records + i * (1 + list->leaf_size);

  return (struct block_expected) { .zero = !record[0], .leaf = record + 1 };
}

void
repair_list_free (struct repair_list *list)
{
  free (list->blocks);
  free (list->records);
}

/* ---- Comparing ---- */

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
  return error_set (error, "%zu of its first %" PRIu64 " blocks %s bad, more "
                    "than %g%% of the %" PRIu64
                    " with data in the manifest: it "
                    "may be another disk; nothing was written; --repair-limit "
                    "allows more", compared->list->count, read,
                    compared->list->count == 1 ? "is" : "are",
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
