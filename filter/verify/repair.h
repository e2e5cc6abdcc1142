/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The repair sources: other disks that may have the blocks that differ on the
 * plugin's disk.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_REPAIR_H
#define NBDKIT_BLKHASH_VERIFY_REPAIR_H

#include <stdbool.h>

struct compare_batch;
struct disk;

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
bool repair_read (struct disk *disk, const struct compare_batch *block);

#endif /* NBDKIT_BLKHASH_VERIFY_REPAIR_H */
