/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a manifest computes: the leaves of blocks of zeros, and the sum of an
 * image from its leaves and runs of zero blocks, in order.
 */

#ifndef BLKHASH_MANIFEST_SUM_H
#define BLKHASH_MANIFEST_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash.h"

/* ---- The leaves of zeros ----
 *
 * The leaves of blocks of zeros in a manifest: the leaf of a full block, and
 * that of a short last block.
 *
 * A block of zeros must be in a run of zeros, so a reader refuses a data record
 * with one of these leaves.  Otherwise an image could have a second manifest,
 * with the same sum, that seems to differ from the first in these blocks.
 *
 * This rule applies only to cryptographic digests.  With xxh64 and xxh3-128 a
 * guest can construct a block of data that has the digest of zeros.  The writer
 * writes that block as data, so a reader must accept its leaf, although it
 * cannot distinguish the block from zeros.
 */

#define MANIFEST_NO_BLOCK UINT64_MAX

struct manifest_zeros {
  const struct blkhash_opts *opts;
  uint64_t size;                /* of the image, in bytes */
  size_t leaf_size;             /* bytes */
  bool unique;                  /* the digest is cryptographic, so no data has
                                 * these leaves */
  bool hashed;                  /* the fields below are set */
  unsigned char full_leaf[BLKHASH_MAX_MD_SIZE];
  uint64_t short_block;         /* index of the short last block, or
                                 * MANIFEST_NO_BLOCK */
  unsigned char short_leaf[BLKHASH_MAX_MD_SIZE];
};

/* Initialize ZEROS for an image of SIZE bytes.  OPTS must outlive ZEROS.
 * Returns 0, ENOMEM, or EINVAL if the digest is not available.
 */
int manifest_zeros_init (struct manifest_zeros *zeros,
                         const struct blkhash_opts *opts, uint64_t size);

/* Compute the leaves, if that was not done before.  manifest_zeros_init does
 * not compute them, because this takes as long as to hash a block, and
 * manifests of parts without data do not need them.  Returns 0, ENOMEM, EIO, or
 * EINVAL if the digest is not available.
 */
int manifest_zeros_hash (struct manifest_zeros *zeros);

/* Returns true if UNIQUE is set, and any of COUNT leaves of data, from block
 * FIRST on, is that of zeros.  Called after manifest_zeros_hash.
 */
bool manifest_zeros_has (const struct manifest_zeros *zeros, uint64_t first,
                         const unsigned char *leaves, size_t count);

/* ---- The sum ---- */

struct manifest_sum;

/* ZEROS must outlive the sum, and manifest_zeros_hash must have been called for
 * it; OPTS need not outlive the sum.  Returns NULL with errno set on failure.
 */
struct manifest_sum *manifest_sum_create (const struct blkhash_opts *opts,
                                          const struct manifest_zeros *zeros);
void manifest_sum_free (struct manifest_sum *sum);

/* Append the next COUNT blocks, at least 1: blocks of data, with their leaves;
 * or blocks of zeros, the last of which can be the short last block of the
 * image.  Returns 0, ENOMEM or EIO.
 */
int manifest_sum_leaves (struct manifest_sum *sum, const unsigned char *leaves,
                         size_t count);
int manifest_sum_zeros (struct manifest_sum *sum, uint64_t count);

/* Store in MD the sum of the image of SIZE bytes, all of whose blocks were
 * appended.  Returns 0, ENOMEM or EIO.
 */
int manifest_sum_final (struct manifest_sum *sum, uint64_t size,
                        unsigned char *md);

#endif /* BLKHASH_MANIFEST_SUM_H */
