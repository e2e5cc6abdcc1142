/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/strata.h"
#include "../lib/common/util.h"
#include "../lib/manifest/manifest-diff.h"
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
