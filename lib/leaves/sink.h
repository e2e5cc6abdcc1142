/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pass leaves, in order, to the callbacks of a program.
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
  struct blkhash_leaf_sink user; /* its functions are NULL if there is no
                                  * sink */
  size_t leaf_size;             /* bytes */
  uint64_t next;                /* index of the next block */
  uint64_t zeros;               /* number of zero blocks before NEXT that are
                                 * held back */
};

/* USER is copied; it may be NULL. */
void sink_init (struct sink *sink, const struct blkhash_leaf_sink *user,
                size_t leaf_size);

bool sink_is_used (const struct sink *sink);

/* Pass the next COUNT blocks, which are data with the array LEAVES, or zeros.
 * Returns 0 or the error of the callback.
 */
int sink_data (struct sink *sink, const unsigned char *leaves, size_t count);
int sink_zeros (struct sink *sink, uint64_t count);

/* Are any zeros held back? */
bool sink_has_zeros (const struct sink *sink);

/* Pass the zeros that are held back.  Zeros that come later are a new run. */
int sink_end (struct sink *sink);

#endif /* BLKHASH_SINK_H */
