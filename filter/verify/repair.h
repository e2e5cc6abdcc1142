/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The repair sources: other disks that may have the blocks that are bad on the
 * plugin's disk.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_REPAIR_H
#define NBDKIT_BLKHASH_VERIFY_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "verify/params.h"

struct compare_batch;
struct disk;

/* How long a request has waited for each NBD server, in nanoseconds. */
struct repair_waits {
  uint64_t of[MAX_REPAIR_SOURCES];
  bool stopped;                 /* the client or nbdkit is ending: read no more
                                 * sources for this request */
};

/* Open the files, and prepare the servers without connecting to them.  Called
 * before the server forks.  Returns 0, or -1 after nbdkit_error.
 */
int repair_open (void);
void repair_close (void);

/* Returns true, and sets WAITS->stopped, if the client or nbdkit is ending. */
bool repair_is_stopped (struct repair_waits *waits);

/* BLOCK is a single block.  Replace its content with the content of the first
 * source whose block matches the manifest, or with zeros if it must be zero.
 * Returns false, with the content unchanged, if the parameters ask for no
 * repair, if no source has a matching block, if there is no memory, or if
 * WAITS->stopped is set.  Thread-safe.
 */
bool repair_read (struct disk *disk, const struct compare_batch *block,
                  struct repair_waits *waits);

#endif /* NBDKIT_BLKHASH_VERIFY_REPAIR_H */
