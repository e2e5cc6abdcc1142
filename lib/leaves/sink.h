/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Leaves, in order, to a user of the library who asked for them.
 *
 * It knows nothing of blocks or content.  One thread at a time.
 */

#ifndef BLKHASH_SINK_H
#define BLKHASH_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash.h"

struct sink {
  struct blkhash_leaf_sink user; /* without functions: nobody asked */
  size_t leaf_size;             /* bytes */
  uint64_t next;                /* block */
  uint64_t zeros;               /* blocks before it that USER was not told of */
};

/* USER is copied; it may be NULL. */
void sink_init (struct sink *sink, const struct blkhash_leaf_sink *user,
                size_t leaf_size);

bool sink_is_used (const struct sink *sink);

/* The next COUNT blocks: with the leaves that lie one behind the other in
 * LEAVES, or zero.  0 or what the user returned.
 */
int sink_data (struct sink *sink, const unsigned char *leaves, size_t count);
int sink_zeros (struct sink *sink, uint64_t count);

/* Are there zeros that were not told yet? */
bool sink_has_zeros (const struct sink *sink);

/* Tell them: these were all, or more will be a run of its own. */
int sink_end (struct sink *sink);

#endif /* BLKHASH_SINK_H */
