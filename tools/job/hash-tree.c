/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
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

static int add_repeated (struct hash_tree *tree, unsigned i,
                         const unsigned char *md, uint64_t count);

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
  return err ? err : add_repeated (tree, i + 1, md, count);
}

/* Add COUNT times the digest MD to level I.  Above the highest level is the
 * root.
 */
static int
add_repeated (struct hash_tree *tree, unsigned i, const unsigned char *md,
              uint64_t count)
{
  struct level *level = &tree->levels[i];
  int err = 0;

  if (i == tree->nr_levels) {
    memcpy (tree->root, md, tree->digest_size);
    return 0;
  }
  while (count > 0 && err == 0) {
    size_t n = MIN (count, tree->max_count - level->count);
    uint64_t more = 0;

    for (size_t j = 0; j < n; j++, level->count++)
      memcpy (level->block + level->count * tree->digest_size, md,
              tree->digest_size);
    count -= n;
    if (n == tree->max_count)   /* all blocks until the last are like this */
      more = count / tree->max_count;
    count -= more * tree->max_count;
    if (level->count == tree->max_count)
      err = end_blocks (tree, i, 1 + more);
  }
  return err;
}

/* ---- Leaves ---- */

int
hash_tree_append (struct hash_tree *tree, const unsigned char *leaves,
                  uint64_t count)
{
  struct level *level = &tree->levels[0];
  int err = 0;

  if (tree->nr_levels == 0)
    return count == 0 ? 0 : hash_tree_append_repeated (tree, leaves, count);
  assert (count <= tree->left);
  tree->left -= count;
  while (count > 0 && err == 0) {
    size_t n = MIN (count, tree->max_count - level->count);

    memcpy (level->block + level->count * tree->digest_size, leaves,
            n * tree->digest_size);
    level->count += n;
    leaves += n * tree->digest_size;
    count -= n;
    if (level->count == tree->max_count)
      err = end_blocks (tree, 0, 1);
  }
  return err;
}

int
hash_tree_append_repeated (struct hash_tree *tree, const unsigned char *leaf,
                           uint64_t count)
{
  assert (count <= tree->left);
  tree->left -= count;
  return count == 0 ? 0 : add_repeated (tree, 0, leaf, count);
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
