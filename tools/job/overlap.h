/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Do all parts of an image agree on the blocks that several of them have?
 */

#ifndef BLKSUM_OVERLAP_H
#define BLKSUM_OVERLAP_H

#include <stddef.h>

struct error;
struct parts;

/* Called with the sum that a file says, which has that of the whole image. */
typedef int (*overlap_sum_function) (void *opaque, const char *path,
                                     const unsigned char *md, unsigned len,
                                     struct error *error);

/* Compare what is not needed with what is; the latter was read to its end.
 * LEAF_SIZE is in bytes.  0, or -1 with the reason, which is about *OPERAND.
 */
int overlap_check (const struct parts *parts, size_t leaf_size,
                   overlap_sum_function take_sum, void *opaque,
                   const char **operand, struct error *error);

#endif /* BLKSUM_OVERLAP_H */
