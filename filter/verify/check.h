/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read a range of the disk so that each block of it is what the manifest says.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_CHECK_H
#define NBDKIT_BLKHASH_VERIFY_CHECK_H

#include <stdint.h>

struct disk;
struct nbdkit_next_ops;
struct source;

/* Store COUNT bytes of the disk from OFFSET on in BUF.  Any number of threads
 * may call it.  0, or -1 with *ERR: then BUF may have anything, and must not be
 * sent.  With FAIL_WARN it returns 0 also if the content is wrong.
 */
int check_read (struct disk *disk, const struct source *source,
                struct nbdkit_next_ops *next, void *buf, uint32_t count,
                uint64_t offset, int *err);

#endif /* NBDKIT_BLKHASH_VERIFY_CHECK_H */
