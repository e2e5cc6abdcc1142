/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check whether a block has the expected leaf.
 *
 * The block is hashed with a leaf table (struct blkhash_leaves), as if it were
 * a whole image.  So the result is always the same as when the image is
 * compared with the manifest.
 */

#ifndef BLKSUM_BLOCK_CHECK_H
#define BLKSUM_BLOCK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blkhash_opts;

/* The expected content of a block. */
struct block_expected {
  bool zero;                    /* all zeros; otherwise data with LEAF */
  const unsigned char *leaf;
};

/* Set *GOOD to whether the LEN bytes of BUF, at most a block of the size in
 * OPTS, are as expected.  Returns 0, or an errno value.
 */
int block_check (const struct blkhash_opts *opts, const void *buf, size_t len,
                 const struct block_expected *expected, bool *good);

#endif /* BLKSUM_BLOCK_CHECK_H */
