/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pass leaves, in order, to the callbacks of a program.
 *
 * One thread at a time.
 */

#ifndef BLKHASH_SINK_H
#define BLKHASH_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash.h"

struct sink {
  struct blkhash_leaf_sink user; /* NULL functions: there is no sink */
  size_t leaf_size;             /* bytes */
  uint64_t next;                /* block */
  uint64_t zeros;               /* blocks before NEXT, held back */
};

/* USER is copied; it may be NULL. */
void sink_init (struct sink *sink, const struct blkhash_leaf_sink *user,
                size_t leaf_size);

bool sink_is_used (const struct sink *sink);

/* Pass the next COUNT blocks: of data, with their LEAVES in a row, or of zeros.
 * 0 or the error of the callback.
 */
int sink_data (struct sink *sink, const unsigned char *leaves, size_t count);
int sink_zeros (struct sink *sink, uint64_t count);

/* Are zeros held back? */
bool sink_has_zeros (const struct sink *sink);

/* Pass the zeros held back.  More zeros would be another run. */
int sink_end (struct sink *sink);

#endif /* BLKHASH_SINK_H */
