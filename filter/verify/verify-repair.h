/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compare the content of blocks with the manifest.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_REPAIR_H
#define NBDKIT_BLKHASH_VERIFY_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct verify_disk;

/* Consecutive blocks that are all data, or all zeros, in the manifest. */
struct compare_batch {
  uint64_t first;               /* number of the first block */
  size_t count;                 /* number of blocks */
  const unsigned char *leaves;  /* of the manifest; NULL: all are zeros */
  unsigned char *buf;           /* their content */
};

/* Returns COUNT blocks of BATCH, from its block NUMBER on, counted from 0. */
struct compare_batch compare_part (const struct verify_disk *disk,
                                   const struct compare_batch *batch,
                                   size_t number, size_t count);

/* Set in GOOD which blocks of BATCH match the manifest.  Data is hashed, and
 * its leaves are compared; blocks that must be zero are only searched for other
 * bytes.  Returns 0, ENOMEM or EIO; after an error GOOD is incomplete.
 * Thread-safe.
 */
int compare (struct verify_disk *disk, const struct compare_batch *batch,
             bool *good);

/* Read from the plugin, within its block size constraints.
 */

struct nbdkit_next_ops;

/* The plugin's disk, as one connection sees it. */
struct plugin_disk {
  uint64_t size;                /* bytes */
  uint32_t min, max;            /* block size constraints, bytes */
};

/* Set the size and the constraints of the plugin's disk.  Returns 0, or -1
 * after nbdkit_error.
 */
int plugin_disk_init (struct plugin_disk *plugin, struct nbdkit_next_ops *next);

/* Read LEN bytes at OFFSET from the plugin.  The range must be within the
 * plugin's disk.  Returns 0, or -1 with *ERR after nbdkit_error.
 */
int plugin_disk_read (const struct plugin_disk *plugin,
                      struct nbdkit_next_ops *next, void *buf, size_t len,
                      uint64_t offset, int *err);

/* The repair sources: other disks that may have the blocks that differ on the
 * plugin's disk.
 */

struct compare_batch;
struct verify_disk;

/* Open the sources.  Called before the server forks.  Returns 0, or -1 after
 * nbdkit_error.
 */
int repair_open (void);
void repair_close (void);

/* BLOCK is a single block.  Replace its content with the content of the first
 * source whose block matches the manifest, or with zeros if it must be zero.
 * Returns false, with the content unchanged, if no source has a matching block,
 * or if there is no memory.  Thread-safe.
 */
bool repair_read (struct verify_disk *disk, const struct compare_batch *block);

#endif /* NBDKIT_BLKHASH_VERIFY_REPAIR_H */
