/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table for a server that sees the requests of others go by, such as
 * the filter for nbdkit, and for manifests: what they need beside the public
 * API, in blkhash.h, whose words on threads, ranges and errors hold here too.
 */

#ifndef BLKHASH_LEAVES_LEAVES_H
#define BLKHASH_LEAVES_LEAVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leaves/pieces-budget.h"

struct blkhash_leaf_sink;
struct blkhash_leaves;
struct blkhash_opts;

/* blkhash_leaves_new for a server: its tables share BUDGET, a bound on the
 * memory of blocks of which only a part is known, which must outlive them; and
 * it calls from many threads with little data each, which are hashed together.
 * NULL: as blkhash_leaves_new.
 */
struct blkhash_leaves *leaves_new_in_budget (const struct blkhash_opts *opts,
                                             uint64_t size, unsigned flags,
                                             struct pieces_budget *budget);

/* As blkhash_leaves_data and _zero, but the content was only looked at, not
 * changed: what was not known is learnt, what was known stays, and what is
 * contradicted becomes missing.  A part of a complete block says nothing new.
 */
int leaves_observe_data (struct blkhash_leaves *l, const void *buf,
                         size_t len, uint64_t offset);
int leaves_observe_zero (struct blkhash_leaves *l, uint64_t len,
                         uint64_t offset);

/* How many looks contradicted what was known.  Takes no lock, since a server
 * asks after each look.
 */
size_t leaves_contradictions (struct blkhash_leaves *l);

/* Does nobody use the table at present?  Then its pieces are the first that
 * are forgotten when others that share the bound need room.
 */
void leaves_set_idle (struct blkhash_leaves *l, bool idle);

/* Forget all pieces of blocks, to give their memory back. */
void leaves_forget_pieces (struct blkhash_leaves *l);

/* ---- For manifests ---- */

/* How the sum is made, and the size of the image.  ENODATA if the size is not
 * known.
 */
int leaves_describe (struct blkhash_leaves *l, struct blkhash_opts *opts,
                     uint64_t *size);

/* As blkhash_leaves_fold, but only to SINK, without a sum.  Runs of zeros come
 * in parts.  EINVAL if the image is given once.
 */
int leaves_fold_to (struct blkhash_leaves *l,
                    const struct blkhash_leaf_sink *sink);

/* COUNT blocks from FIRST on have these LEAVES, each of LEAF_SIZE bytes, or are
 * zero if that is NULL.  EINVAL if they are not in the image, its size is not
 * known, or leaves have another size.
 */
int leaves_put_leaves (struct blkhash_leaves *l, uint64_t first,
                       uint64_t count, const unsigned char *leaves,
                       size_t leaf_size);

#endif /* BLKHASH_LEAVES_LEAVES_H */
