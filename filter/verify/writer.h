/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which connections may write repaired blocks to the plugin.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_WRITER_H
#define NBDKIT_BLKHASH_VERIFY_WRITER_H

struct disk;
struct nbdkit_next_ops;
struct source;

/* Check that the digest of DISK is cryptographic: otherwise it does not prove
 * that a block is right, and nothing may be written.  Returns 0, or -1 after
 * nbdkit_error.
 */
int writer_check_digest (const struct disk *disk);

/* Check that the plugin can write single blocks on this connection, and set
 * SOURCE->may_write.  Returns 0, or -1 after nbdkit_error.
 */
int writer_prepare (const struct disk *disk, struct source *source,
                    struct nbdkit_next_ops *next);

/* Called when a connection is closed, even if writer_prepare refused it. */
void writer_close (struct source *source);

#endif /* NBDKIT_BLKHASH_VERIFY_WRITER_H */
