/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check whether blocks have the expected leaves.
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

/* Check the LEN bytes of BUF, which are consecutive blocks of the size in
 * OPTS; only the last block can be shorter.  EXPECTED and GOOD have an element
 * for each block.  Set each element of GOOD to whether the block has the
 * expected content.  Returns 0, or an errno value.
 */
int block_check (const struct blkhash_opts *opts, const void *buf, size_t len,
                 const struct block_expected *expected, bool *good);

#endif /* BLKSUM_BLOCK_CHECK_H */
