/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves of blocks of zeros in a manifest: of a full one, and of the short
 * last block.
 *
 * A block of zeros is in a run of zeros, so no leaf of data is one of these.
 * Anything else would be a second manifest of the same image: one with the same
 * sum, but with blocks that differ.
 *
 * That holds for cryptographic digests: nobody knows data with the digest of
 * zeros.  With xxh64 and xxh3-128 a guest can make such a block.  It is data,
 * and our writer says so; a reader cannot tell it from zeros.  It takes these
 * leaves, so that all that is written can be read.
 *
 * It knows nothing of files.
 */

#ifndef BLKHASH_MANIFEST_ZEROS_H
#define BLKHASH_MANIFEST_ZEROS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash.h"

struct manifest_zeros {
  const struct blkhash_opts *opts;
  uint64_t size;                /* of the image, in bytes */
  size_t leaf_size;             /* bytes */
  bool unique;                  /* no other data has these leaves */
  bool hashed;                  /* what follows is set */
  unsigned char full_leaf[BLKHASH_MAX_MD_SIZE];
  uint64_t short_block;         /* its number, or MANIFEST_NO_BLOCK */
  unsigned char short_leaf[BLKHASH_MAX_MD_SIZE];
};

#define MANIFEST_NO_BLOCK UINT64_MAX

/* Of an image of SIZE bytes.  OPTS is the caller's, and used until the end.  0,
 * ENOMEM, or EINVAL if the digest is not here.
 */
int manifest_zeros_init (struct manifest_zeros *zeros,
                         const struct blkhash_opts *opts, uint64_t size);

/* Hash them, if they are not.  That is a block of work, and who reads the
 * manifests of many parts without data needs none of it.  0, ENOMEM or EIO.
 */
int manifest_zeros_hash (struct manifest_zeros *zeros);

/* Is any of the COUNT leaves of data, from block FIRST on, that of zeros?  They
 * were hashed.
 */
bool manifest_zeros_has (const struct manifest_zeros *zeros, uint64_t first,
                         const unsigned char *leaves, size_t count);

#endif /* BLKHASH_MANIFEST_ZEROS_H */
