/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "construction/leaf.h"
#include "construction/opts.h"
#include "construction/outer.h"
#include "digest/digest.h"
#include "manifest/manifest-sum.h"

/* ---- The leaves of zeros ---- */

int
manifest_zeros_init (struct manifest_zeros *zeros,
                     const struct blkhash_opts *opts, uint64_t size)
{
  struct digest *digest = digest_create (opts->digest_name);

  if (!digest)
    return errno;
  *zeros = (struct manifest_zeros) {
    .opts = opts,
    .size = size,
    .leaf_size = digest_size (digest),
    .unique = digest_is_cryptographic (digest),
    .short_block = MANIFEST_NO_BLOCK,
  };
  digest_free (digest);
  return 0;
}

static int
hash_zeros (struct manifest_zeros *zeros, const struct digest *digest)
{
  uint32_t block_size = zeros->opts->block_size;
  struct leaf_engine *engine = leaf_engine_create (digest, block_size);
  int err = 0;

  if (!engine)
    return errno;
  memcpy (zeros->full_leaf, leaf_zero_md (engine), zeros->leaf_size);
  if (zeros->size % block_size != 0) {
    zeros->short_block = zeros->size / block_size;
    err = leaf_hash_zeros (engine, zeros->size % block_size,
                           zeros->short_leaf);
  }
  leaf_engine_free (engine);
  return err;
}

int
manifest_zeros_hash (struct manifest_zeros *zeros)
{
  struct digest *digest;
  int err;

  if (zeros->hashed)
    return 0;
  digest = digest_create (zeros->opts->digest_name);
  if (!digest)
    return errno;
  err = hash_zeros (zeros, digest);
  digest_free (digest);
  zeros->hashed = err == 0;
  return err;
}

/* The first byte differs in most leaves: compare it before memcmp is called. */
static bool
is_in (const unsigned char *leaf, const unsigned char *leaves, size_t count,
       size_t leaf_size)
{
  size_t i;

  for (i = 0; i < count; i++, leaves += leaf_size)
    if (leaves[0] == leaf[0] && memcmp (leaves, leaf, leaf_size) == 0)
      return true;
  return false;
}

bool
manifest_zeros_has (const struct manifest_zeros *zeros, uint64_t first,
                    const unsigned char *leaves, size_t count)
{
  if (!zeros->unique || count == 0)
    return false;
  if (first + count - 1 == zeros->short_block) {
    count--;
    if (is_in (zeros->short_leaf, leaves + count * zeros->leaf_size, 1,
               zeros->leaf_size))
      return true;
  }
  return is_in (zeros->full_leaf, leaves, count, zeros->leaf_size);
}

/* ---- The sum ---- */

struct manifest_sum {
  struct digest *digest;
  const struct manifest_zeros *zeros;
  struct outer *outer;
  uint64_t next;                /* index of the next block */
};

void
manifest_sum_free (struct manifest_sum *sum)
{
  if (!sum)
    return;
  outer_free (sum->outer);
  digest_free (sum->digest);
  free (sum);
}

struct manifest_sum *
manifest_sum_create (const struct blkhash_opts *opts,
                     const struct manifest_zeros *zeros)
{
  struct manifest_sum *sum = calloc (1, sizeof *sum);
  int err;

  if (!sum)
    return NULL;
  sum->zeros = zeros;
  sum->digest = digest_create (opts->digest_name);
  if (sum->digest)
    sum->outer = outer_create (sum->digest, &opts->construction,
                               zeros->full_leaf);
  if (sum->outer)
    return sum;
  err = errno;
  manifest_sum_free (sum);
  errno = err;
  return NULL;
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
  int err;

  sum->next += count;
  if (sum->next - 1 != sum->zeros->short_block)
    return outer_zeros (sum->outer, count);
  err = outer_zeros (sum->outer, count - 1);
  return err ? err : outer_leaves (sum->outer, sum->zeros->short_leaf, 1);
}

int
manifest_sum_final (struct manifest_sum *sum, uint64_t size,
                    unsigned char *md)
{
  return outer_final (sum->outer, size, md);
}
