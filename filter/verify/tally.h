/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of each block of a disk: not read, or how its last read ended.
 * Thread-safe.
 *
 * The states are in pages.  A page is allocated when one of its blocks is read,
 * or if tally_set_zeros sets some but not all of its blocks.  If one call sets
 * all of its blocks, zeros_page, which all disks share, is used instead.  It is
 * never modified: when one of its blocks is set, the disk gets a copy of the
 * page.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_TALLY_H
#define NBDKIT_BLKHASH_VERIFY_TALLY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum block_state {
  BLOCK_MISSING,
  BLOCK_OK,                     /* or zero in the manifest, and in the plugin's
                                 * extents */
  BLOCK_DIFFERS,                /* it differs from the manifest */
  BLOCK_UNREADABLE,             /* the plugin failed to read it */
  BLOCK_REPAIRED,               /* it differs, but the client got the right
                                 * content from a repair source, or zeros */
  BLOCK_UNREADABLE_REPAIRED,    /* the same for an unreadable block */
  BLOCK_STATES,
};

/* A read in flight, on the stack of its thread.  Between tally_begin_read and
 * tally_end_read it is protected by the lock of the tally.
 */
struct tally_read {
  struct tally_read *next;
  uint64_t first, end;          /* blocks, END excluded */
  bool has_retried;             /* it has read a block again, after those that
                                 * follow it; only its thread uses this */
  bool has_reset;               /* the states of all blocks began anew, and */
  bool has_failure;             /* a block of these got another state than
                                 * BLOCK_OK, by another read */
};

struct tally {
  pthread_mutex_t lock;         /* protects the fields below, except BLOCKS,
                                 * which is constant */
  uint64_t blocks;              /* of the disk */
  uint64_t counts[BLOCK_STATES];
  uint64_t transient;           /* how often a block differed or was unreadable,
                                 * and ok when it was retried */
  uint64_t changes;             /* grows when a request changes a value that is
                                 * published: a state or TRANSIENT */
  unsigned char **pages;        /* 4 bits for each block; NULL: a page of blocks
                                 * that are all BLOCK_MISSING */
  struct tally_read *reads;
};

/* A snapshot of the counts. */
struct tally_counts {
  uint64_t blocks[BLOCK_STATES];
  uint64_t transient;
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

/* Set all blocks to BLOCK_MISSING, and TRANSIENT to 0: the disk may be another
 * one.
 */
void tally_reset (struct tally *tally);

/* Before COUNT blocks from FIRST on are read, and after their states were set.
 */
void tally_begin_read (struct tally *tally, struct tally_read *read,
                       uint64_t first, uint64_t count);
void tally_end_read (struct tally *tally, struct tally_read *read);

/* Set the state of BLOCK, which READ has read, and return its old state.  If
 * there is no memory, nothing is set, and BLOCK_MISSING is returned.
 *
 * READ can be older than another one that has found that BLOCK differs, or has
 * reset the tally.  Then BLOCK does not become ok: nothing is set, and its
 * state is returned.
 *
 * If a block that was ok differs now, or one that differed is ok, the old
 * states are those of another content of the disk: then the tally is reset
 * first, and *RESET is set to true, otherwise to false.
 */
enum block_state tally_set (struct tally *tally, const struct tally_read *read,
                            uint64_t block, enum block_state state,
                            bool *reset);

void tally_add_transient (struct tally *tally);

/* Set those of the COUNT blocks from FIRST on that are BLOCK_MISSING to
 * BLOCK_OK: they are zero in the manifest, and in the plugin's extents.
 * Returns 0, or -1 if there is no memory.
 */
int tally_set_zeros (struct tally *tally, uint64_t first, uint64_t count);

/* Returns how often a block of any disk got another state than BLOCK_OK.  A
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
