/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read a range of the disk, and verify each block of it against the manifest.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_CHECK_H
#define NBDKIT_BLKHASH_VERIFY_CHECK_H

#include <stdint.h>

struct disk;
struct nbdkit_next_ops;
struct source;

/* Read COUNT bytes of the disk at OFFSET into BUF.  Returns 0, or -1 with *ERR
 * set: a block cannot be read, does not match the manifest, or cannot be
 * verified, because the manifest has changed or cannot be read, the block
 * cannot be hashed, or there is no memory; or the disk is stopped (see disk.h).
 * With FAIL_WARN a mismatch is not an error.  After an error the content of BUF
 * is undefined, and must not be sent.  Thread-safe.
 */
int check_read (struct disk *disk, const struct source *source,
                struct nbdkit_next_ops *next, void *buf, uint32_t count,
                uint64_t offset, int *err);

#endif /* NBDKIT_BLKHASH_VERIFY_CHECK_H */
