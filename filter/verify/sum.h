/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A checksum of blkhash-verify-sum or blkhash-verify-sums, with the tag that
 * says how it was computed.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_SUM_H
#define NBDKIT_BLKHASH_VERIFY_SUM_H

#include "blkhash.h"

struct sum {
  struct blkhash_opts *opts;
  unsigned char md[BLKHASH_MAX_MD_SIZE];
};

/* Parse "blk-sha256/64k = HEX" or "blk-sha256/64k (NAME) = HEX", as blksum
 * --tag prints it, or "blk-sha256/64k:HEX", as blksum --expect takes it.
 * Returns 0, or -1 with errno set: EINVAL for any other text, which SUM_INVALID
 * describes.
 */
#define SUM_INVALID "not a checksum with its tag, such as " \
                    "blk-sha256/64k = 58314742..."
int sum_parse (struct sum *sum, const char *text);
void sum_free (struct sum *sum);

#endif /* NBDKIT_BLKHASH_VERIFY_SUM_H */
