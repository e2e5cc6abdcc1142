/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write a repaired block to the plugin.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_WRITE_BACK_H
#define NBDKIT_BLKHASH_VERIFY_WRITE_BACK_H

#include <stdbool.h>

struct compare_batch;
struct disk;
struct nbdkit_next_ops;
struct source;

/* Can the connection write single blocks?  Returns 0, or -1 after nbdkit_error.
 */
int write_back_prepare (const struct disk *disk, const struct source *source,
                        struct nbdkit_next_ops *next);

/* Write BLOCK, a single one whose content is verified, to the plugin, flush it,
 * and read it again, unless the plugin has it meanwhile.  Returns whether the
 * plugin has it.  Thread-safe; needs write_back_prepare on this connection.
 */
bool write_back (struct disk *disk, const struct source *source,
                 struct nbdkit_next_ops *next,
                 const struct compare_batch *block);

#endif /* NBDKIT_BLKHASH_VERIFY_WRITE_BACK_H */
