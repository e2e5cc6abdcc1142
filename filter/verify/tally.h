/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of each block of a disk: it was not read, or how its last read
 * ended.  Thread-safe.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_TALLY_H
#define NBDKIT_BLKHASH_VERIFY_TALLY_H

#include <pthread.h>
#include <stdint.h>

enum block_state {
  BLOCK_NOT_READ,
  BLOCK_GOOD,                   /* or it is zero by the manifest */
  BLOCK_BAD,                    /* it differs from the manifest */
  BLOCK_UNREADABLE,             /* the plugin failed to read it */
  BLOCK_STATES,
};

struct tally {
  pthread_mutex_t lock;
  uint64_t blocks;              /* of the disk */
  uint64_t counts[BLOCK_STATES];
  uint64_t transient;           /* blocks that were bad, and good when they were
                                 * read again at once */
  uint64_t zeros;               /* blocks that are zero by the manifest */
  uint64_t changes;             /* how often any of this changed */
  unsigned char **pages;        /* states, 2 bits a block; NULL: not read */
};

/* What was counted at one moment. */
struct tally_counts {
  uint64_t blocks[BLOCK_STATES];
  uint64_t transient;
  enum block_state last;        /* of the last block */
};

/* 0, or -1: no memory. */
int tally_init (struct tally *tally, uint64_t blocks);
void tally_destroy (struct tally *tally);

/* Replace what is in TO by what is in FROM, which has as many blocks, and is
 * to be destroyed then.
 */
void tally_move (struct tally *to, struct tally *from);

/* Set the state of BLOCK, and return the one that it had.  Without memory the
 * block stays one that was not read.
 */
enum block_state tally_set (struct tally *tally, uint64_t block,
                            enum block_state state);

void tally_add_transient (struct tally *tally);

/* The COUNT blocks from FIRST on, which were not read and never will be, are
 * zero by the manifest.  0, or -1: no memory.
 */
int tally_set_zeros (struct tally *tally, uint64_t first, uint64_t count);

void tally_get_counts (struct tally *tally, struct tally_counts *counts);
uint64_t tally_get_changes (struct tally *tally);

/* The number of blocks from FIRST on that have the same *STATE. */
uint64_t tally_get_run (struct tally *tally, uint64_t first,
                        enum block_state *state);

#endif /* NBDKIT_BLKHASH_VERIFY_TALLY_H */
