/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two images as one, which is zero where they are the same.
 */

#ifndef BLKSUM_PAIR_H
#define BLKSUM_PAIR_H

#include <stddef.h>

struct error;
struct source;
struct source_options;

/* Make a source of two that were opened, and must stay open: its size is that
 * of the longer one, and what the other does not have counts as zeros.  It is
 * read by blocks of BLOCK_SIZE bytes: those that are the same in both are
 * zero, and all that is known of others is that they are not.  0; or -1 with
 * errno set: ENOTSUP if one of the two cannot be read at any offset.
 */
int pair_open (const struct source_options *options, size_t block_size,
               struct source *const both[2], struct source **source);

/* Which of the two is an error of the source about?  0 or 1. */
unsigned pair_failed (const struct source *source);

#endif /* BLKSUM_PAIR_H */
