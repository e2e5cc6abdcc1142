/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write a repaired block to the plugin.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_WRITE_BACK_H
#define NBDKIT_BLKHASH_VERIFY_WRITE_BACK_H

#include <stdbool.h>
#include <stdint.h>

struct compare_batch;
struct disk;
struct nbdkit_next_ops;
struct source;

/* Wait until no thread repairs BLOCK: a read while BLOCK is written could
 * return a mix of old and new content.
 */
void write_back_wait (uint64_t block);

enum write_back {
  WRITE_BACK_FAILED,            /* or BLOCK must not be written */
  WRITE_BACK_NOT_NEEDED,        /* the plugin's block is good by now */
  WRITE_BACK_DONE,
};

/* BLOCK is a single block whose content has been verified.  Write it to the
 * plugin, flush, and read it again, unless the plugin's block is good by now.
 * Thread-safe.  Called after writer_prepare on the same connection.
 */
enum write_back write_back (struct disk *disk, const struct source *source,
                            struct nbdkit_next_ops *next,
                            const struct compare_batch *block);

#endif /* NBDKIT_BLKHASH_VERIFY_WRITE_BACK_H */
