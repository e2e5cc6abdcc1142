/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "../lib/digest/digest.h"
#include "blkhash.h"
#include "job/hash-tree.h"

#define MAX_LEVELS 11           /* of 2^64 blocks, with 64 digests in a block */

struct level {
  unsigned char block[HASH_TREE_BLOCK_SIZE];
  size_t count;                 /* digests in BLOCK */
  uint64_t next;                /* index of BLOCK in the file */
};

struct hash_tree {
  hash_tree_write *write;
  void *opaque;
  struct digest_ctx *ctx;
  size_t digest_size;           /* bytes */
  size_t max_count;             /* digests in a hash block */
  unsigned nr_levels;
  uint64_t nr_blocks;           /* hash blocks of all levels */
  uint64_t left;                /* leaves that were not appended yet */
  unsigned char root[BLKHASH_MAX_MD_SIZE];
  struct level levels[MAX_LEVELS]; /* the lowest first */
};

/* ---- Create and free ---- */

/* Set the numbers of levels and of their blocks.  The file has the highest
 * level first.
 */
static void
set_levels (struct hash_tree *tree, uint64_t count)
{
  uint64_t blocks[MAX_LEVELS];

  while (count > 1) {
    count = DIV_ROUND_UP (count, tree->max_count);
    blocks[tree->nr_levels++] = count;
  }
  for (unsigned i = tree->nr_levels; i-- > 0; tree->nr_blocks += blocks[i])
    tree->levels[i].next = tree->nr_blocks;
}

struct hash_tree *
hash_tree_create (const struct digest *digest, uint64_t count,
                  hash_tree_write *write, void *opaque)
{
  struct hash_tree *tree = calloc (1, sizeof *tree);

  if (!tree)
    return NULL;
  tree->write = write;
  tree->opaque = opaque;
  tree->digest_size = digest_size (digest);
  tree->max_count = HASH_TREE_BLOCK_SIZE / tree->digest_size;
  tree->left = count;
  set_levels (tree, count);
  tree->ctx = digest_ctx_create (digest);
  if (tree->ctx)
    return tree;
  free (tree);
  return NULL;
}

void
hash_tree_free (struct hash_tree *tree)
{
  if (!tree)
    return;
  digest_ctx_free (tree->ctx);
  free (tree);
}

uint64_t
hash_tree_blocks (const struct hash_tree *tree)
{
  return tree->nr_blocks;
}

/* ---- Levels ---- */

static int add (struct hash_tree *tree, unsigned i, const unsigned char *mds,
                uint64_t count, bool repeated);

/* Write and hash the block of level I, which stands for COUNT equal blocks, and
 * add its digest to the level above, as often.
 */
static int
end_blocks (struct hash_tree *tree, unsigned i, uint64_t count)
{
  struct level *level = &tree->levels[i];
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  int err = digest_message (tree->ctx, level->block, sizeof level->block, md);

  if (err == 0 && tree->write)
    err = tree->write (tree->opaque, level->block, count, level->next);
  level->next += count;
  level->count = 0;
  return err ? err : add (tree, i + 1, md, count, true);
}

/* Add COUNT digests to level I: those at MDS, or all equal to the first.  Above
 * the highest level is the root.
 */
static int
add (struct hash_tree *tree, unsigned i, const unsigned char *mds,
     uint64_t count, bool repeated)
{
  struct level *level = &tree->levels[i];
  const size_t size = tree->digest_size;
  int err = 0;

  if (i == tree->nr_levels && count > 0) {
    memcpy (tree->root, mds, size);
    return 0;
  }
  while (count > 0 && err == 0) {
    size_t n = MIN (count, tree->max_count - level->count);
    uint64_t more = 0;

    count -= n;
    if (repeated && n == tree->max_count) { /* the next blocks are like this */
      more = count / tree->max_count;
      count -= more * tree->max_count;
    }
    for (; n > 0; n--, level->count++, mds += repeated ? 0 : size)
      memcpy (level->block + level->count * size, mds, size);
    if (level->count == tree->max_count)
      err = end_blocks (tree, i, 1 + more);
  }
  return err;
}

int
hash_tree_append (struct hash_tree *tree, const unsigned char *leaves,
                  uint64_t count, bool repeated)
{
  assert (count <= tree->left);
  tree->left -= count;
  return add (tree, 0, leaves, count, repeated);
}

int
hash_tree_finish (struct hash_tree *tree, unsigned char *root)
{
  int err = 0;

  assert (tree->left == 0);
  for (unsigned i = 0; i < tree->nr_levels && err == 0; i++) {
    struct level *level = &tree->levels[i];
    size_t used = level->count * tree->digest_size;

    if (used == 0)
      continue;
    memset (level->block + used, 0, sizeof level->block - used);
    err = end_blocks (tree, i, 1);
  }
  memcpy (root, tree->root, tree->digest_size);
  return err;
}
