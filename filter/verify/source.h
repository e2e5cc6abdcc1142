/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read from the plugin, or from a repair source that is an NBD export, within
 * the block size constraints of that disk.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_SOURCE_H
#define NBDKIT_BLKHASH_VERIFY_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nbdkit_next_ops;

/* A disk to read from: an NBD export, or the plugin's disk, as one connection
 * sees it.
 */
struct source {
  uint64_t size;                /* of the disk */
  uint32_t min, max;            /* block size constraints, bytes */
  bool may_write;               /* the connection may write, see writer.h */
};

/* MIN and MAX are 0 if there are no constraints. */
void source_set (struct source *source, uint64_t size, uint32_t min,
                 uint32_t max);

/* Set the size and the constraints of the plugin's disk.  Returns 0, or -1
 * after nbdkit_error.
 */
int source_init (struct source *source, struct nbdkit_next_ops *next);

/* Read LEN bytes at OFFSET from the plugin.  The range must be within the
 * plugin's disk.  Returns 0, or -1 with *ERR after nbdkit_error.
 */
int source_read (const struct source *source, struct nbdkit_next_ops *next,
                 void *buf, size_t len, uint64_t offset, int *err);

/* The same, with a function PREAD that reads from another disk.  After an error
 * of PREAD, nbdkit_error was called only if PREAD calls it.
 */
typedef int source_pread (void *opaque, void *buf, uint32_t len,
                          uint64_t offset, int *err);
int source_read_by (const struct source *source, source_pread *pread,
                    void *opaque, void *buf, size_t len, uint64_t offset,
                    int *err);

#endif /* NBDKIT_BLKHASH_VERIFY_SOURCE_H */
