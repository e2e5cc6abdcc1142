/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The repair sources: other disks that may have the blocks that are bad on that
 * of the plugin.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_REPAIR_H
#define NBDKIT_BLKHASH_VERIFY_REPAIR_H

#include <stdbool.h>
#include <time.h>

#include "verify/params.h"

struct compare_batch;
struct disk;

/* For a request: until when each NBD server may reply, or zero if the request
 * has not asked it.
 */
struct repair_deadlines {
  struct timespec of[MAX_REPAIR_SOURCES];
};

/* Open the files, before the server forks.  Returns 0, or -1 after
 * nbdkit_error.
 */
int repair_open (void);
void repair_close (void);

/* Replace the content of BLOCK, a single one, by that of the first source that
 * has what the manifest says.  Returns false if none has it; then the content
 * is unchanged.  Thread-safe.
 */
bool repair_read (struct disk *disk, const struct compare_batch *block,
                  struct repair_deadlines *deadlines);

#endif /* NBDKIT_BLKHASH_VERIFY_REPAIR_H */
