/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: sums and manifests of the disk of test-nbdkit.h.  The
 * expected sum is computed by the streaming API, which, unlike the filter, uses
 * no leaf table (struct blkhash_leaves).
 */

#ifndef NBDKIT_BLKHASH_TEST_SUMS_H
#define NBDKIT_BLKHASH_TEST_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash.h"

#define SUM_LEN (2 * BLKHASH_MAX_MD_SIZE + 1)

/* Write the sum of the disk's first SIZE bytes, in hexadecimal, to SUM. */
void disk_sum (char sum[SUM_LEN], uint64_t size, uint32_t block_size);

/* Returns true if PATH is a complete manifest and describes the disk. */
bool manifest_is_right (const char *path, uint64_t size, uint32_t block_size);

/* Write the manifest PATH of the disk. */
void manifest_make (const char *path, uint64_t size, uint32_t block_size);

#endif /* NBDKIT_BLKHASH_TEST_SUMS_H */
