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
  BLOCK_GOOD,
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
  unsigned char **pages;        /* states, 2 bits a block; NULL: not read */
};

/* 0, or -1: no memory. */
int tally_init (struct tally *tally, uint64_t blocks);
void tally_destroy (struct tally *tally);

/* Set the state of BLOCK, and return the one that it had.  Without memory the
 * block stays one that was not read.
 */
enum block_state tally_set (struct tally *tally, uint64_t block,
                            enum block_state state);

void tally_add_transient (struct tally *tally);

#endif /* NBDKIT_BLKHASH_VERIFY_TALLY_H */
