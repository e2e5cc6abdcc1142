/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compare the content of blocks with the manifest.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_COMPARE_H
#define NBDKIT_BLKHASH_VERIFY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk;

/* Consecutive blocks that are all data, or all zeros, in the manifest. */
struct compare_batch {
  uint64_t first;               /* number of the first block */
  size_t count;                 /* number of blocks */
  const unsigned char *leaves;  /* of the manifest; NULL: all are zeros */
  unsigned char *buf;           /* their content */
};

/* Returns COUNT blocks of BATCH, from its block NUMBER on, counted from 0. */
struct compare_batch compare_part (const struct disk *disk,
                                   const struct compare_batch *batch,
                                   size_t number, size_t count);

/* Set in GOOD which blocks of BATCH match the manifest.  Data is hashed, and
 * its leaves are compared; blocks that must be zero are only searched for other
 * bytes.  Returns 0, ENOMEM or EIO; after an error GOOD is incomplete.
 * Thread-safe.
 */
int compare (struct disk *disk, const struct compare_batch *batch, bool *good);

#endif /* NBDKIT_BLKHASH_VERIFY_COMPARE_H */
