/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The outer hash: leaves, in order, to the digest of the image.  The
 * construction is flat, linear or streams.
 *
 * One thread at a time.
 */

#ifndef BLKHASH_OUTER_H
#define BLKHASH_OUTER_H

#include <stddef.h>
#include <stdint.h>

struct construction;
struct digest;

struct outer;

/* DIGEST must outlive it; CONSTRUCTION and ZERO_LEAF, the leaf of a block of
 * zeros, are copied.  NULL with errno set on failure.
 */
struct outer *outer_create (const struct digest *digest,
                            const struct construction *construction,
                            const unsigned char *zero_leaf);
void outer_free (struct outer *outer);

/* Append an array of COUNT leaves. */
int outer_leaves (struct outer *outer, const unsigned char *leaves,
                  size_t count);

/* Append the leaf of a block of zeros COUNT times. */
int outer_zeros (struct outer *outer, uint64_t count);

/* Store the digest of the image of SIZE bytes.  Only outer_free may follow. */
int outer_final (struct outer *outer, uint64_t size, unsigned char *md);

#endif /* BLKHASH_OUTER_H */
