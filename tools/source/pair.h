/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The difference of two sources, as a source: zero where they are the same.
 */

#ifndef BLKSUM_PAIR_H
#define BLKSUM_PAIR_H

#include <stddef.h>

struct error;
struct source;
struct source_options;

/* Create the difference of two open sources, which must outlive it.  It has the
 * size of the larger one; the smaller one is extended by zeros.  Blocks of
 * BLOCK_SIZE bytes are compared: a block that is the same in both reads as
 * zeros, and any other block as some data that is not zero.  Returns 0; or -1
 * with errno set: ENOTSUP if one of the two has no functions that read at any
 * offset (see image in source.h).
 */
int pair_open (const struct source_options *options, size_t block_size,
               struct source *const both[2], struct source **source);

/* Returns the index, 0 or 1, of the source that caused the error of the pair.
 */
unsigned pair_failed (const struct source *source);

#endif /* BLKSUM_PAIR_H */
