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

/* Check that the digest of DISK is cryptographic: otherwise it does not prove
 * that a block is right, and nothing may be written.  Returns 0, or -1 after
 * nbdkit_error.
 */
int write_back_check (const struct disk *disk);

/* Check that the plugin can write single blocks on this connection, and set
 * SOURCE->may_write.  If the plugin has no multi-conn, only one connection at a
 * time may write, because the other connections need not see what it writes.
 * Returns 0, or -1 after nbdkit_error.
 */
int write_back_prepare (const struct disk *disk, struct source *source,
                        struct nbdkit_next_ops *next);

/* Called when a connection is closed, even if write_back_prepare refused it. */
void write_back_close (struct source *source);

/* Wait until no thread repairs BLOCK: a read during its write could return a
 * mix of old and new content.
 */
void write_back_wait (uint64_t block);

/* BLOCK is a single block whose content has been verified.  Write it to the
 * plugin, flush, and read it again, unless the plugin's block is good by now.
 * Returns true if the plugin has the right content.  Thread-safe.  Called after
 * write_back_prepare on the same connection.
 */
bool write_back (struct disk *disk, const struct source *source,
                 struct nbdkit_next_ops *next,
                 const struct compare_batch *block);

#endif /* NBDKIT_BLKHASH_VERIFY_WRITE_BACK_H */
