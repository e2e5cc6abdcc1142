/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pass leaves (digests of blocks), in order, to the callbacks of a program.
 *
 * Zeros are held back until the run of zeros ends, so that a run is one call,
 * unless sink_end is called earlier.
 *
 * A sink is used by one thread at a time.
 */

#ifndef BLKHASH_SINK_H
#define BLKHASH_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash.h"

struct sink {
  struct blkhash_leaf_sink user; /* the callbacks, which are NULL if the
                                  * program passed none */
  size_t leaf_size;             /* bytes */
  uint64_t next;                /* index of the next block */
  uint64_t zeros;               /* number of zero blocks before NEXT that are
                                 * held back */
};

/* USER is copied.  It is NULL if the program passed no callbacks; then the
 * other functions only count the blocks.
 */
void sink_init (struct sink *sink, const struct blkhash_leaf_sink *user,
                size_t leaf_size);

/* Returns true if there are callbacks. */
bool sink_is_used (const struct sink *sink);

/* Pass the next COUNT blocks: data, whose leaves are in the array LEAVES; or
 * zeros, which are held back.  Returns 0, or the error of the callback.
 */
int sink_data (struct sink *sink, const unsigned char *leaves, size_t count);
int sink_zeros (struct sink *sink, uint64_t count);

/* Returns true if any zeros are held back. */
bool sink_has_zeros (const struct sink *sink);

/* Pass the zeros that are held back.  Zeros after them are a new run.  Returns
 * 0, or the error of the callback.
 */
int sink_end (struct sink *sink);

#endif /* BLKHASH_SINK_H */
