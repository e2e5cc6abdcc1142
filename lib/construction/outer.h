/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The outer hash: computes the digest of the image from its leaves, the digests
 * of its blocks, in order.  The construction is flat, linear or streams.
 *
 * An outer hash is used by one thread at a time.  Functions that return int
 * return 0 or an errno value.
 */

#ifndef BLKHASH_OUTER_H
#define BLKHASH_OUTER_H

#include <stddef.h>
#include <stdint.h>

struct construction;
struct digest;

struct outer;

/* DIGEST must outlive the outer hash.  CONSTRUCTION and ZERO_LEAF, the leaf of
 * a full block of zeros, are copied.  Returns NULL with errno set on failure.
 */
struct outer *outer_create (const struct digest *digest,
                            const struct construction *construction,
                            const unsigned char *zero_leaf);
void outer_free (struct outer *outer);

/* Append an array of COUNT leaves. */
int outer_leaves (struct outer *outer, const unsigned char *leaves,
                  size_t count);

/* Append ZERO_LEAF COUNT times. */
int outer_zeros (struct outer *outer, uint64_t count);

/* Store in MD the digest of the image, whose size is SIZE bytes.  After this
 * only outer_free may be called.
 */
int outer_final (struct outer *outer, uint64_t size, unsigned char *md);

#endif /* BLKHASH_OUTER_H */
