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
  int fd;                       /* -1: it is closed */
  struct manifest_index *index;
  uint64_t size, blocks;        /* of the disk */
  uint32_t block_size;
  size_t leaf_size;
  struct digest *digest;
  struct leaf_engine *engine;
  struct block_cache cache;
  struct tally tally;
  bool stopped;                 /* all requests fail; atomic */
  uint64_t zeros;               /* bytes that are zero by the manifest, if
                                 * counted, so that they are not read */
  bool changed;                 /* so did the manifest, and it was logged;
                                 * atomic */
};

/* Flags of disk_open. */
#define DISK_COMPUTE 1          /* compute the sum even if that is "none", so
                                 * that it is that of the leaves and not what
                                 * the file claims */
#define DISK_COUNT_ZEROS 2      /* what is zero by the manifest counts as good */

/* Read the manifest in FD, which is closed with the disk, and check that its
 * sum is SUM, unless that is "none".  PATH is that of the file, and lives as
 * long as the disk.  NULL after nbdkit_error.
 */
struct disk *disk_open (int fd, const char *path, const char *sum,
                        unsigned flags);

/* Close the manifest: only the size and the tally remain. */
void disk_close (struct disk *disk);
void disk_free (struct disk *disk);

/* Make all requests fail from now on; do they? */
void disk_stop (struct disk *disk);
bool disk_is_stopped (const struct disk *disk);

/* Was it found that the manifest has changed? */
bool disk_has_changed (const struct disk *disk);

/* As manifest_index_get, for a request.  0, or -1 after nbdkit_error; then *ERR
 * is set.
 */
int disk_get_run (struct disk *disk, uint64_t first, uint64_t max,
                  unsigned char *leaves, struct blkhash_manifest_run *run,
                  int *err);

/* The number of bytes of COUNT blocks from block FIRST on. */
uint64_t disk_bytes (const struct disk *disk, uint64_t first, uint64_t count);

#endif /* NBDKIT_BLKHASH_VERIFY_DISK_H */
