/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read from the plugin, within its block size constraints.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_SOURCE_H
#define NBDKIT_BLKHASH_VERIFY_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct nbdkit_next_ops;

/* The plugin's disk, as one connection sees it. */
struct source {
  uint64_t size;                /* bytes */
  uint32_t min, max;            /* block size constraints, bytes */
};

/* Set the size and the constraints of the plugin's disk.  Returns 0, or -1
 * after nbdkit_error.
 */
int source_init (struct source *source, struct nbdkit_next_ops *next);

/* Read LEN bytes at OFFSET from the plugin.  The range must be within the
 * plugin's disk.  Returns 0, or -1 with *ERR after nbdkit_error.
 */
int source_read (const struct source *source, struct nbdkit_next_ops *next,
                 void *buf, size_t len, uint64_t offset, int *err);

#endif /* NBDKIT_BLKHASH_VERIFY_SOURCE_H */
