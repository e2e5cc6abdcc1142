/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table, beyond the public API: for a server that observes the
 * requests of its clients, such as the filter for nbdkit, and for manifests.
 * The rules of blkhash-leaves.h on threads, ranges and errors hold here too.
 */

#ifndef BLKHASH_LEAVES_LEAVES_H
#define BLKHASH_LEAVES_LEAVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leaves/pieces.h"

struct blkhash_leaf_sink;
struct blkhash_leaves;
struct blkhash_opts;

/* The same as blkhash_leaves_new, for a server whose tables share BUDGET, which
 * limits the memory of partial blocks.  BUDGET must outlive the tables.  Small
 * requests of many threads are hashed together.  If BUDGET is NULL, this is the
 * same as blkhash_leaves_new.
 */
struct blkhash_leaves *leaves_new_in_budget (const struct blkhash_opts *opts,
                                             uint64_t size, unsigned flags,
                                             struct pieces_budget *budget);

/* Let the child of a fork use L, a table of its parent, instead of the parent.
 * At the fork no other thread of the parent may have used the table: a server
 * that goes to the background creates it before, to report errors to the user.
 */
void leaves_adopt (struct blkhash_leaves *l);

/* The same as blkhash_leaves_data and blkhash_leaves_zero, but for content that
 * was read and not written.  Missing content is added, and known content is not
 * replaced.  If the content contradicts the known content of a block, the block
 * becomes missing.  A part of a complete block of data cannot be compared, and
 * is ignored, as is a piece for which there is no room in the budget.  Must not
 * be called for a table that was created with BLKHASH_LEAVES_ONCE.
 */
int leaves_observe_data (struct blkhash_leaves *l, const void *buf,
                         size_t len, uint64_t offset);
int leaves_observe_zero (struct blkhash_leaves *l, uint64_t len,
                         uint64_t offset);

/* Store in *OFFSET and *LEN a range of whole blocks, in bytes, that
 * observations have contradicted and no earlier call has returned.  If too many
 * ranges were contradicted between two calls, the range is the whole image.
 * Returns false if there is no such range; then this function usually takes no
 * lock, so it can be called after each observation.
 */
bool leaves_next_contradiction (struct blkhash_leaves *l,
                                uint64_t *offset, uint64_t *len);

/* Set whether the table is idle.  When other tables that share the budget need
 * room, the pieces of idle tables are evicted first.
 */
void leaves_set_idle (struct blkhash_leaves *l, bool idle);

/* Hash the partial blocks that are complete, and evict the others, to release
 * their memory.  Errors are sticky.
 */
void leaves_release_pieces (struct blkhash_leaves *l);

/* ---- For manifests ---- */

/* Store the parameters of the hash and the size of the image.  Returns 0, or
 * ENODATA if the size is unknown.
 */
int leaves_describe (struct blkhash_leaves *l, struct blkhash_opts *opts,
                     uint64_t *size);

/* The same as blkhash_leaves_fold, but only passes the leaves to SINK, and
 * computes no sum.  A run of zeros can be passed in parts.  The sink of the
 * table is not called.  Returns EINVAL if the table was created with
 * BLKHASH_LEAVES_ONCE.
 */
int leaves_fold_to (struct blkhash_leaves *l,
                    const struct blkhash_leaf_sink *sink);

/* Set COUNT blocks from FIRST on to LEAVES, each of LEAF_SIZE bytes, or to zero
 * if LEAVES is NULL.  LEAVES are those of data: a reader has checked that none
 * of them is that of zeros.  Returns EINVAL if the blocks are not in the image,
 * if its size is unknown, or if the leaves of the table are not of LEAF_SIZE
 * bytes; other errors are those of blkhash_leaves_data.
 */
int leaves_put_leaves (struct blkhash_leaves *l, uint64_t first,
                       uint64_t count, const unsigned char *leaves,
                       size_t leaf_size);

/* The same for leaves that can be those of zeros: these are stored as zeros, as
 * if the content had been given.  With a digest that is not cryptographic they
 * are stored as data, because blocks of data can have the leaf of zeros, too.
 */
int leaves_put_unvalidated (struct blkhash_leaves *l, uint64_t first,
                            uint64_t count, const unsigned char *leaves,
                            size_t leaf_size);

#endif /* BLKHASH_LEAVES_LEAVES_H */
