/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read a range of the disk, and verify each block of it against the manifest;
 * verify the zeros that no client read.
 *
 * Only whole blocks can be verified.  The whole blocks of a request are read
 * into its buffer and hashed there, many at a time.  A block of which the
 * request has only a part is read into a buffer of its own, and added to the
 * cache if its content was verified.
 *
 * Unless verify_params.zero is ZERO_READ, clients get the zeros of the manifest
 * without a read.  With ZERO_EXTENTS the zeros of the disk are verified after
 * the last client, because no client waits then, and because clients do not
 * even ask for zeros.  A client that only probes the disk, such as nbdinfo,
 * must not cause a read of all zeros, so all data must have been read before.
 *
 * Called by nbdkit's threads.  Nothing else reads from the plugin, and nothing
 * writes to it.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_CHECK_H
#define NBDKIT_BLKHASH_VERIFY_CHECK_H

#include <stdint.h>

struct nbdkit_next_ops;
struct verify_disk;
struct verify_export;

/* The plugin's disk, as one connection sees it. */
struct plugin_disk {
  uint64_t size;                /* bytes */
  uint32_t min, max;            /* block size constraints, bytes */
};

/* Set the size and the constraints of the plugin's disk.  Returns 0, or -1
 * after nbdkit_error.
 */
int plugin_disk_init (struct plugin_disk *plugin, struct nbdkit_next_ops *next);

/* Read COUNT bytes of the disk at OFFSET into BUF.  Returns 0, or -1 with *ERR
 * set: a block cannot be read, does not match the manifest, or cannot be
 * verified, because the manifest has changed or cannot be read, the block
 * cannot be hashed, or there is no memory; or the disk is stopped.  With
 * FAIL_WARN a mismatch is not an error.  After an error the content of BUF is
 * undefined, and must not be sent.  Thread-safe.
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
