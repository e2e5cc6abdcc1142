/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read a range of the disk, and verify each block of it against the manifest;
 * verify the zeros that no client read.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_CHECK_H
#define NBDKIT_BLKHASH_VERIFY_CHECK_H

#include <stdint.h>

struct verify_disk;
struct verify_export;
struct nbdkit_next_ops;
struct plugin_disk;

/* Read COUNT bytes of the disk at OFFSET into BUF.  Returns 0, or -1 with *ERR
 * set: a block cannot be read, does not match the manifest, or cannot be
 * verified, because the manifest has changed or cannot be read, the block
 * cannot be hashed, or there is no memory; or the disk is stopped (see disk.h).
 * With FAIL_WARN a mismatch is not an error.  After an error the content of BUF
 * is undefined, and must not be sent.  Thread-safe.
 */
int check_read (struct verify_disk *disk, const struct plugin_disk *plugin,
                struct nbdkit_next_ops *next, void *buf, uint32_t count,
                uint64_t offset, int *err);

/* If no client is connected, and all blocks of data were read, verify the
 * blocks of zeros that were not, by the plugin's extents, or by reading them.
 * Called when a client has disconnected, with its connection.  The states of
 * the blocks are the only result: nothing is served.  Ends early if a block
 * cannot be read, or if a client connects.
 */
void check_zeros (struct verify_export *export,
                  const struct plugin_disk *plugin,
                  struct nbdkit_next_ops *next);

#endif /* NBDKIT_BLKHASH_VERIFY_CHECK_H */
