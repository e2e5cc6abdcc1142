/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of each block of a disk: not read, or how its last read ended.
 * Thread-safe.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_TALLY_H
#define NBDKIT_BLKHASH_VERIFY_TALLY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum block_state {
  BLOCK_NOT_READ,
  BLOCK_GOOD,                   /* or zero in the manifest, and in the plugin's
                                 * extents */
  BLOCK_BAD,                    /* it differs from the manifest */
  BLOCK_UNREADABLE,             /* the plugin failed to read it */
  BLOCK_IN_FLIGHT,              /* bad, but repaired in flight: the client got
                                 * the right content from a repair source, or
                                 * zeros; or good, but marked, see
                                 * tally_begin_write */
  BLOCK_UNREADABLE_IN_FLIGHT,   /* the same for an unreadable block */
  BLOCK_STATES,
};

struct tally {
  pthread_mutex_t lock;         /* protects the fields below, except BLOCKS,
                                 * which is constant */
  uint64_t blocks;              /* of the disk */
  uint64_t counts[BLOCK_STATES];
  uint64_t transient;           /* how often a block was bad or unreadable, and
                                 * good when it was retried */
  uint64_t repaired;            /* calls of tally_end_write: writes after which
                                 * the block was good */
  uint64_t failed_writes;       /* calls of tally_add_failed_write */
  uint64_t writes;              /* counted by tally_begin_write, even those
                                 * that failed */
  uint64_t proven;              /* blocks of data that were good when they were
                                 * first read, or in a retry of many blocks
                                 * (retry_rest in batch.c); those of requests
                                 * that failed may not be counted */
  bool limit_reached;           /* a block was not written, because WRITES had
                                 * reached the limit */
  uint64_t changes;             /* grows when a request changes a value that is
                                 * published: a state, TRANSIENT, REPAIRED,
                                 * FAILED_WRITES or LIMIT_REACHED */
  unsigned char **pages;        /* 4 bits for each block: its state and the
                                 * mark of tally_begin_write; NULL: a page of
                                 * blocks that are all BLOCK_NOT_READ */
};

/* A snapshot of the counts. */
struct tally_counts {
  uint64_t blocks[BLOCK_STATES];
  uint64_t transient, repaired, failed_writes;
  bool limit_reached;
  enum block_state last;        /* of the last block */
};

/* Returns 0, or -1 if there is no memory. */
int tally_init (struct tally *tally, uint64_t blocks);
void tally_destroy (struct tally *tally);

/* Replace the states and counts of TO with those of FROM, which has the same
 * number of blocks.  No other thread may use FROM, and afterwards it can only
 * be destroyed.
 */
void tally_move (struct tally *to, struct tally *from);

/* Set all blocks to BLOCK_NOT_READ, and TRANSIENT and PROVEN to 0: the disk may
 * be another one.  Marks and the counts of writes remain, because they limit
 * the writes of this process.
 */
void tally_reset (struct tally *tally);

/* Set the state of BLOCK, and return its old state.  For a marked block, see
 * tally_begin_write.  If there is no memory, nothing is set, and BLOCK_NOT_READ
 * is returned.
 *
 * If a block that was good is bad now, or one that was bad is good, the old
 * states are those of another content of the disk: then the tally is reset
 * first, and *RESET is set to true, otherwise to false.
 */
enum block_state tally_set (struct tally *tally, uint64_t block,
                            enum block_state state, bool *reset);

void tally_add_transient (struct tally *tally);
void tally_add_proven (struct tally *tally, uint64_t blocks);
uint64_t tally_get_proven (struct tally *tally);

/* Mark BLOCK and count a write, before BLOCK is written to the plugin.  The
 * mark remains until tally_end_write.  As long as it remains, the content of
 * the storage is unknown, so tally_set stores BLOCK_IN_FLIGHT instead of
 * BLOCK_GOOD.  Returns false if there were already LIMIT writes, or if there is
 * no memory.  Sets *IS_FIRST if this is the first write that the limit refuses.
 */
bool tally_begin_write (struct tally *tally, uint64_t block, uint64_t limit,
                        bool *is_first);

/* BLOCK was written and flushed, and was good when it was read again.  Remove
 * its mark, set it to BLOCK_GOOD, and count it as repaired.
 */
void tally_end_write (struct tally *tally, uint64_t block);

/* The write of a block, or the flush, failed, or the block was not good when it
 * was read again.  Its mark remains.
 */
void tally_add_failed_write (struct tally *tally);

/* Returns true if BLOCK has the mark of tally_begin_write. */
bool tally_is_marked (struct tally *tally, uint64_t block);

/* Set those of the COUNT blocks from FIRST on that are BLOCK_NOT_READ to
 * BLOCK_GOOD: they are zero in the manifest, and in the plugin's extents.
 * Returns 0, or -1 if there is no memory.
 */
int tally_set_zeros (struct tally *tally, uint64_t first, uint64_t count);

/* Returns how often a block of any disk got another state than BLOCK_GOOD.  A
 * thread that has called tally_set gets a number that counts the state that it
 * set or found.
 */
uint64_t tally_findings (void);

void tally_get_counts (struct tally *tally, struct tally_counts *counts);
uint64_t tally_get_changes (struct tally *tally);

/* Store the state of block FIRST in *STATE, and return the number of blocks
 * from FIRST on that have this state.
 */
uint64_t tally_get_run (struct tally *tally, uint64_t first,
                        enum block_state *state);

#endif /* NBDKIT_BLKHASH_VERIFY_TALLY_H */
