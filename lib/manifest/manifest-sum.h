/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compute the sum of an image from its leaves and runs of zero blocks, in
 * order.
 */

#ifndef BLKHASH_MANIFEST_SUM_H
#define BLKHASH_MANIFEST_SUM_H

#include <stddef.h>
#include <stdint.h>

struct blkhash_opts;
struct manifest_zeros;

struct manifest_sum;

/* ZEROS must outlive the sum, and manifest_zeros_hash must have been called for
 * it; OPTS need not outlive the sum.  Returns NULL with errno set on failure.
 */
struct manifest_sum *manifest_sum_create (const struct blkhash_opts *opts,
                                          const struct manifest_zeros *zeros);
void manifest_sum_free (struct manifest_sum *sum);

/* Append the next COUNT blocks, at least 1: blocks of data, with their leaves;
 * or blocks of zeros, the last of which can be the short last block of the
 * image.  Returns 0, ENOMEM or EIO.
 */
int manifest_sum_leaves (struct manifest_sum *sum, const unsigned char *leaves,
                         size_t count);
int manifest_sum_zeros (struct manifest_sum *sum, uint64_t count);

/* Store in MD the sum of the image of SIZE bytes, all of whose blocks were
 * appended.  Returns 0, ENOMEM or EIO.
 */
int manifest_sum_final (struct manifest_sum *sum, uint64_t size,
                        unsigned char *md);

#endif /* BLKHASH_MANIFEST_SUM_H */
