/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which extents of a disk prove that it is zero.  A claim is a range that the
 * plugin, or a filter below, reported as zero.
 *
 * Ranges are in bytes, END is exclusive.  Not thread-safe: the caller holds
 * exports_lock, except where noted.
 */

#ifndef NBDKIT_BLKHASH_CLAIMS_H
#define NBDKIT_BLKHASH_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "block-set.h"
#include "part-set.h"

#define CLAIMS_WHY_SIZE 96      /* bytes */

/* The claims of all exports of a disk that have the same size, and what was
 * read from these exports.  Exports of different sizes are not the same
 * content.  A last block that is shorter than the others counts as a part.
 */
struct evidence {
  struct evidence *next;
  uint64_t size;                /* bytes */
  struct block_set zeros;       /* claims that count: whole blocks */
  struct part_set zero_parts;   /* and parts of blocks */
  /* Where other content than zeros was read.  A block in DATA has such content
   * somewhere.  The first and the last byte of a part in DATA_PARTS are not
   * zero, and fewer than MAX_GAP (claims.c) consecutive bytes in it are.
   */
  struct block_set data;
  struct part_set data_parts;
};

/* If all members are zero, there are no claims. */
struct claims {
  struct block_set unproven;    /* blocks that may have been changed, other than
                                 * by a zero request that succeeded: claims
                                 * prove nothing there */
  struct evidence *evidence;    /* list */
  bool wrong;                   /* a claim was wrong: no claim counts */
  bool no_memory;               /* and that is only assumed: a set has more than
                                 * was added */
  uint64_t wrong_at;            /* byte */
};

/* Returns the evidence of exports of SIZE bytes; or NULL if there is no memory.
 * It is valid until claims_destroy.
 */
struct evidence *claims_evidence (struct claims *c, uint64_t size);

/* The range may have been changed, other than by a zero request that succeeded.
 * Returns false if there is no memory: then the caller must invalidate the
 * first and the last block of the range in all leaf tables.
 */
bool claims_changed (struct claims *c, uint64_t offset, uint64_t end);

/* From now on claims prove nothing in the blocks of this range. */
void claims_unproven (struct claims *c, uint64_t offset, uint64_t end);

/* A zero request succeeded. */
void claims_zeroed (struct claims *c, uint64_t offset, uint64_t end);

/* The plugin claims that the range from OFFSET to END is zero.  Sets *RUN_END
 * to the end of the range to which the result applies.
 */
enum claim {
  CLAIM_COUNTS,                 /* the range is zero as far as is known; this is
                                 * recorded */
  CLAIM_IGNORED,                /* the claim proves nothing */
  CLAIM_WRONG                   /* other content was read; wrong_at is set */
};
enum claim claims_add (struct claims *c, struct evidence *e,
                       uint64_t offset, uint64_t end, uint64_t *run_end);

/* Find the next range of the LEN bytes at OFFSET, in BUF, that has data: whole
 * blocks none of which is zero, or a part of a block.  The search begins at
 * RUN->end.  Returns false if there is none.  Needs no lock.
 */
bool claims_next_data (const unsigned char *buf, uint64_t offset, uint64_t len,
                       struct byte_range *run);

/* A range that claims_next_data found was read; BUF begins with its content.
 * Returns false if this shows that a claim was wrong; wrong_at is set.
 */
bool claims_read (struct claims *c, struct evidence *e, struct byte_range run,
                  const unsigned char *buf);

/* Write the reason why no claim counts. */
void claims_why (const struct claims *c, char why[CLAIMS_WHY_SIZE]);

void claims_destroy (struct claims *c);

#endif /* NBDKIT_BLKHASH_CLAIMS_H */
