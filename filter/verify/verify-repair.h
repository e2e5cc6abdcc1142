/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compare the content of blocks with the manifest, and read those that differ
 * from the repair sources: other disks that may have them.
 *
 * A source is not trusted.  It can be damaged, be another snapshot, have
 * another size, or even be the plugin's disk: a block is only used if it
 * matches its leaf in the manifest.  The sources are read one after the other
 * until one of them has a matching block.  A source that had a wrong block is
 * still read for other blocks.  A block that must be zero is filled with zeros
 * without reading a source.
 *
 * A source is a file or a block device.  It is read without a lock and without
 * a timeout, as a plugin reads its disk.
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
int compare_blocks (struct verify_disk *disk, const struct compare_batch *batch,
                    bool *good);

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
