/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which extents of a disk prove that it is zero.  A claim is a range that the
 * plugin, or a filter below, reported as zero.
 *
 * Extents can be wrong: nbdkit's ext2 filter of 1.32 passes on the extents of
 * the image that contains the file which it serves, and a plugin can have a
 * bug.  So two sets are kept for all exports of a disk that have the same size:
 * the claims that count, and the ranges in which other content than zeros was
 * read.  A range that is in both proves that the extents are wrong.  Then no
 * claim counts any more.  The order of the claim and the read does not matter.
 * The sets do not depend on the leaf tables: these forget content, and each
 * export has its own.
 *
 * When a request changes a range, other than a zero request that succeeds, the
 * range is no longer claimed to be zero.  And from then on new claims prove
 * nothing in its blocks, because they may not reflect the change: a caching
 * filter below, such as nbdkit's cache filter, passes on the extents of the
 * plugin.  These do not reflect cached writes, and the cached data does not
 * reflect trims.
 *
 * Whole blocks are in a block set.  A claim of a part of a block must count
 * too, because extents usually begin and end within blocks.  So parts of blocks
 * are stored with their exact bounds.  The number of these is limited:
 *
 * - a claim of a part for which there is no room is ignored, and if there is no
 *   room for what a change leaves of a claim, the content of its block becomes
 *   unknown;
 * - if there is no room for a part with data, the blocks of all such parts
 *   become blocks with data.  Where in such a block data was read is not known:
 *   a claim of a part of the block is ignored, a claim of the whole block is
 *   wrong.
 *
 * Reads of zeros are not recorded: they agree with any claim.
 *
 * Ranges are in bytes, END is exclusive.  Not thread-safe: the caller holds
 * exports_lock, except where noted.
 */

#ifndef NBDKIT_BLKHASH_CLAIMS_H
#define NBDKIT_BLKHASH_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash/block-set.h"

/* ---- Sets of parts of blocks ----
 *
 * The functions are exported for unit tests.
 */

#define PARTS_OF_BLOCK 1024     /* maximum number of parts of a block */

/* A part of block INDEX: the bytes from START to END, exclusive, in the block.
 * If END is 0, the slot of the table was never used; if START and END are equal
 * otherwise, its part was removed.
 */
struct block_part {
  uint64_t index;
  uint32_t start, end;
};

/* A set of parts of blocks: ranges of bytes, each within a block of a disk.  If
 * all members are zero, the set is empty.
 */
struct part_set {
  struct block_part *table;     /* a hash table with linear probing */
  size_t room, used;            /* slots of the table; ROOM is 0 or a power of
                                 * two */
};

/* Add LEN bytes at START in block INDEX.  Returns false, without a change, if
 * there is no memory, if the set has MAX parts, or the block PARTS_OF_BLOCK.
 */
bool part_set_add (struct part_set *set, size_t max, uint64_t index,
                   uint32_t start, uint32_t len);

/* Call FN with each part that overlaps the range from OFFSET to END, in any
 * order, until FN returns true; then return true.  FN may remove the part.
 */
bool part_set_visit (struct part_set *set, uint32_t block_size,
                     uint64_t offset, uint64_t end,
                     bool (*fn) (void *opaque, struct block_part *part),
                     void *opaque);

static inline void
block_part_remove (struct block_part *part)
{
  part->start = part->end;
}

/* Remove all parts, and free the memory. */
void part_set_clear (struct part_set *set);

/* ---- Claims ---- */

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
