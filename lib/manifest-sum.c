/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sum of an image, of its leaves and runs of zero blocks in order.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "blkhash.h"
#include "digest.h"
#include "leaf.h"
#include "manifest-sum.h"
#include "opts.h"
#include "outer.h"

struct manifest_sum {
  struct digest *digest;
  struct leaf_engine *engine;   /* for the leaves of zeros */
  struct outer *outer;
  uint32_t block_size;
  uint64_t size, next;          /* bytes, block */
};

struct manifest_sum *
manifest_sum_create (const struct blkhash_opts *opts, uint64_t size)
{
  struct manifest_sum *sum = calloc (1, sizeof *sum);
  int err;

  if (!sum)
    return NULL;
  sum->size = size;
  sum->block_size = opts->block_size;
  sum->digest = digest_create (opts->digest_name);
  if (sum->digest)
    sum->engine = leaf_engine_create (sum->digest, opts->block_size);
  if (sum->engine)
    sum->outer = outer_create (sum->digest, &opts->construction,
                               leaf_zero_md (sum->engine));
  if (sum->outer)
    return sum;
  err = errno;
  manifest_sum_free (sum);
  errno = err;
  return NULL;
}

void
manifest_sum_free (struct manifest_sum *sum)
{
  if (!sum)
    return;
  outer_free (sum->outer);
  leaf_engine_free (sum->engine);
  digest_free (sum->digest);
  free (sum);
}

int
manifest_sum_leaves (struct manifest_sum *sum, const unsigned char *leaves,
                     size_t count)
{
  sum->next += count;
  return outer_leaves (sum->outer, leaves, count);
}

int
manifest_sum_zeros (struct manifest_sum *sum, uint64_t count)
{
  uint64_t full = sum->size / sum->block_size;
  unsigned char leaf[BLKHASH_MAX_MD_SIZE];
  int err;

  sum->next += count;
  if (sum->next <= full)
    return outer_zeros (sum->outer, count);
  err = outer_zeros (sum->outer, count - 1);
  if (err == 0)
    err = leaf_hash_zeros (sum->engine, sum->size % sum->block_size, leaf);
  if (err == 0)
    err = outer_leaves (sum->outer, leaf, 1);
  return err;
}

int
manifest_sum_final (struct manifest_sum *sum, unsigned char *md)
{
  return outer_final (sum->outer, sum->size, md);
}
