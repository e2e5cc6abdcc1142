/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The repair sources: other disks that may have the blocks that are bad on that
 * of the plugin.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_REPAIR_H
#define NBDKIT_BLKHASH_VERIFY_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "verify/params.h"

struct compare_batch;
struct disk;

/* For a request: how long it has waited for each NBD server, in nanoseconds. */
struct repair_waits {
  uint64_t of[MAX_REPAIR_SOURCES];
  bool stopped;                 /* the client or nbdkit ends: nothing more is read
                                 * for the request */
};

/* Open the files, before the server forks.  Returns 0, or -1 after
 * nbdkit_error.
 */
int repair_open (void);
void repair_close (void);

/* Replace the content of BLOCK, a single one, by that of the first source that
 * has what the manifest says.  Returns false if none has it, or with
 * WAITS->stopped; then the content is unchanged.  Thread-safe.
 */
bool repair_read (struct disk *disk, const struct compare_batch *block,
                  struct repair_waits *waits);

#endif /* NBDKIT_BLKHASH_VERIFY_REPAIR_H */
