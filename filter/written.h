/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which blocks of a disk clients wrote to or trimmed, since the server started.
 *
 * Of such a block an extents reply proves nothing: a filter below that caches,
 * as nbdkit's cache filter does, passes on what the plugin says, which does not
 * know what was written, while its own copy does not know what was trimmed.
 *
 * It knows nothing of exports and requests.  Its user holds a lock.
 */

#ifndef NBDKIT_BLKHASH_WRITTEN_H
#define NBDKIT_BLKHASH_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

struct leaf_tree;

/* Zero-initialised it is empty. */
struct written {
  struct leaf_tree *blocks;     /* NULL: none, or all */
  bool all;                     /* no memory to tell which */
};

/* Add all blocks of BLOCK_SIZE bytes that have bytes from OFFSET to END. */
void written_add (struct written *written, uint32_t block_size,
                  uint64_t offset, uint64_t end);

/* Was the block with the byte at OFFSET written to?  *RUN_END is where the
 * answer ends to be the same, at most END; both are in bytes.
 */
bool written_at (const struct written *written, uint32_t block_size,
                 uint64_t offset, uint64_t end, uint64_t *run_end);

void written_destroy (struct written *written);

#endif /* NBDKIT_BLKHASH_WRITTEN_H */
