/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk that is verified: its manifest, and what all connections share.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_DISK_H
#define NBDKIT_BLKHASH_VERIFY_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash-manifest.h"

#include "verify/block-cache.h"
#include "verify/tally.h"

struct digest;
struct leaf_engine;
struct manifest_index;

struct disk {
  const char *path;             /* of the manifest */
  int fd;                       /* of the manifest; -1: it is closed */
  struct manifest_index *index;
  uint64_t size, blocks;        /* size of the disk in bytes, and in blocks */
  uint64_t data_blocks;         /* blocks that are not zero in the manifest */
  uint32_t block_size;
  size_t leaf_size;
  struct digest *digest;
  struct leaf_engine *engine;
  struct block_cache cache;
  struct tally tally;
  bool stopped;                 /* all requests fail; atomic */
  uint64_t zeros;               /* bytes that are zero in the manifest; 0
                                 * without DISK_COUNT_ZEROS */
  bool changed;                 /* the manifest has changed, and this was
                                 * logged; atomic */
};

/* Flags of disk_open. */
#define DISK_COMPUTE 1          /* compute the sum of the leaves, and check that
                                 * the manifest records it, even if SUM is
                                 * "none" */
#define DISK_COUNT_ZEROS 2      /* blocks that are zero in the manifest, which
                                 * are not read, count as good */

/* Read the manifest in FD, which is closed with the disk, or on error.  Check
 * that its sum is SUM, unless that is "none".  PATH is the path of the file,
 * and must live as long as the disk.  Returns NULL after nbdkit_error.
 */
struct disk *disk_open (int fd, const char *path, const char *sum,
                        unsigned flags);

/* Close the manifest, and free the members that only requests need.  The
 * members that outputs need remain: PATH, the sizes, TALLY, ZEROS, STOPPED and
 * CHANGED.
 */
void disk_close (struct disk *disk);
void disk_free (struct disk *disk);

/* disk_stop sets the flag that makes all later requests fail. */
void disk_stop (struct disk *disk);
bool disk_is_stopped (const struct disk *disk);

/* Returns true if a request found that the manifest has changed. */
bool disk_has_changed (const struct disk *disk);

/* The same as manifest_index_get, for a request.  Returns 0, or -1 with *ERR
 * set, after nbdkit_error; but a changed manifest is logged only once.
 */
int disk_get_run (struct disk *disk, uint64_t first, uint64_t max,
                  unsigned char *leaves, struct blkhash_manifest_run *run,
                  int *err);

/* Returns the number of bytes of COUNT blocks from block FIRST on. */
uint64_t disk_bytes (const struct disk *disk, uint64_t first, uint64_t count);

#endif /* NBDKIT_BLKHASH_VERIFY_DISK_H */
