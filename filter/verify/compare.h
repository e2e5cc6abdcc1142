/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Is the content of blocks what the manifest says?
 */

#ifndef NBDKIT_BLKHASH_VERIFY_COMPARE_H
#define NBDKIT_BLKHASH_VERIFY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk;

/* Consecutive blocks of one kind. */
struct compare_batch {
  uint64_t first;
  size_t count;
  const unsigned char *leaves;  /* what they must have; NULL: they are zero */
  unsigned char *buf;           /* their content */
};

/* COUNT blocks of BATCH from its block NUMBER on, counted from 0. */
struct compare_batch compare_part (const struct disk *disk,
                                   const struct compare_batch *batch,
                                   size_t number, size_t count);

/* Set which blocks of BATCH are GOOD, by hashing their content.  Any number of
 * threads may call it.  0, ENOMEM or EIO.
 */
int compare (struct disk *disk, const struct compare_batch *batch, bool *good);

#endif /* NBDKIT_BLKHASH_VERIFY_COMPARE_H */
