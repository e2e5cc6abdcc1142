/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sum of an image, of its leaves and runs of zero blocks in order.
 *
 * It knows nothing of files.
 */

#ifndef BLKHASH_MANIFEST_SUM_H
#define BLKHASH_MANIFEST_SUM_H

#include <stddef.h>
#include <stdint.h>

struct blkhash_opts;
struct manifest_zeros;

struct manifest_sum;

/* OPTS is copied.  ZEROS, which are hashed, must outlive it.  NULL with errno
 * set on failure.
 */
struct manifest_sum *manifest_sum_create (const struct blkhash_opts *opts,
                                          const struct manifest_zeros *zeros);
void manifest_sum_free (struct manifest_sum *sum);

/* The leaves of the next COUNT blocks; or they are zero, with the short last
 * block that ZEROS say.  0, ENOMEM or EIO.
 */
int manifest_sum_leaves (struct manifest_sum *sum, const unsigned char *leaves,
                         size_t count);
int manifest_sum_zeros (struct manifest_sum *sum, uint64_t count);

/* These were all blocks of an image of SIZE bytes. */
int manifest_sum_final (struct manifest_sum *sum, uint64_t size,
                        unsigned char *md);

#endif /* BLKHASH_MANIFEST_SUM_H */
