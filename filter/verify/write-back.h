/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write a repaired block to the plugin.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_WRITE_BACK_H
#define NBDKIT_BLKHASH_VERIFY_WRITE_BACK_H

#include <stdbool.h>
#include <stdint.h>

struct compare_batch;
struct disk;
struct nbdkit_next_ops;
struct source;

/* Does the digest of DISK allow to write what it proves?  Returns 0, or -1 after
 * nbdkit_error.
 */
int write_back_check (const struct disk *disk);

/* Can the connection write single blocks?  Sets SOURCE->may_write, unless another
 * connection may write, and the plugin has no multi-conn: then its connections
 * need not see what the others write.  Returns 0, or -1 after nbdkit_error.
 */
int write_back_prepare (const struct disk *disk, struct source *source,
                        struct nbdkit_next_ops *next);

/* The connection is closed, also one that write_back_prepare refused. */
void write_back_close (struct source *source);

/* Wait until no thread writes BLOCK: a read meanwhile could see a part of it. */
void write_back_wait (uint64_t block);

/* Write BLOCK, a single one whose content is verified, to the plugin, flush it,
 * and read it again, unless the plugin has it meanwhile.  Returns whether the
 * plugin has it.  Thread-safe; needs write_back_prepare on this connection.
 */
bool write_back (struct disk *disk, const struct source *source,
                 struct nbdkit_next_ops *next,
                 const struct compare_batch *block);

#endif /* NBDKIT_BLKHASH_VERIFY_WRITE_BACK_H */
