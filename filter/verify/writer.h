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

/* With blkhash-verify-repair-write, check when nbdkit starts, before and after
 * it changes its user, that the disk may be repaired.  The digest must be
 * cryptographic: otherwise it does not prove that a block is right.  See
 * config_files_check_disks for the plugin's disk.  Returns 0, or -1 after
 * nbdkit_error.
 */
int writer_check (void);

/* Check that the plugin can write single blocks on this connection, and set
 * SOURCE->may_write.  Returns 0, or -1 after nbdkit_error.
 */
int writer_prepare (const struct disk *disk, struct source *source,
                    struct nbdkit_next_ops *next);

/* Called when a connection is closed, even if writer_prepare failed. */
void writer_close (struct source *source);

#endif /* NBDKIT_BLKHASH_VERIFY_WRITER_H */
