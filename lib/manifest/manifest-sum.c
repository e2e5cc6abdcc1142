/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "construction/opts.h"
#include "construction/outer.h"
#include "digest/digest.h"
#include "manifest/manifest-sum.h"
#include "manifest/manifest-zeros.h"

struct manifest_sum {
  struct digest *digest;
  const struct manifest_zeros *zeros;
  struct outer *outer;
  uint64_t next;                /* index of the next block */
};

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

void
manifest_sum_free (struct manifest_sum *sum)
{
  if (!sum)
    return;
  outer_free (sum->outer);
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
