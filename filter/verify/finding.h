/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Log ranges of blocks that differ or are unreadable.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_FINDING_H
#define NBDKIT_BLKHASH_VERIFY_FINDING_H

#include <stdint.h>

#include "verify/tally.h"

struct disk;

/* A range of consecutive blocks in one state, to log. */
struct finding {
  uint64_t first, count;
  enum block_state state;
  int err;                      /* why it is unreadable */
};

/* Extend FINDING by BLOCK.  If BLOCK is not adjacent or has another state, log
 * FINDING first, and begin a new one.
 */
void finding_add (struct finding *finding, const struct disk *disk,
                  uint64_t block, enum block_state state, int err);

/* Log that BLOCK had the state OLD when it was read before, and has another one
 * now, so that the states of all blocks were reset.
 */
void finding_log_reset (const struct disk *disk, uint64_t block,
                        enum block_state old);

/* Log FINDING, unless it is empty. */
void finding_log (const struct finding *finding, const struct disk *disk);

#endif /* NBDKIT_BLKHASH_VERIFY_FINDING_H */
