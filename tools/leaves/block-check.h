/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Do blocks have the leaves that are expected?
 */

#ifndef BLKSUM_BLOCK_CHECK_H
#define BLKSUM_BLOCK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blkhash_opts;

/* A block that is expected. */
struct block_expected {
  bool zero;                    /* all zero; otherwise data, with this leaf: */
  const unsigned char *leaf;
};

/* Set which blocks of BUF are GOOD.  Its LEN bytes are consecutive blocks of
 * the size in OPTS, of which only the last can be shorter, and EXPECTED has an
 * element for each.  0, or an errno value.
 */
int block_check (const struct blkhash_opts *opts, const void *buf, size_t len,
                 const struct block_expected *expected, bool *good);

#endif /* BLKSUM_BLOCK_CHECK_H */
