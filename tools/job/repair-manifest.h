/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The manifest by which a disk is repaired.
 */

#ifndef BLKSUM_REPAIR_MANIFEST_H
#define BLKSUM_REPAIR_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

struct blkhash_manifest_run;
struct blkhash_opts;
struct error;
struct manifest_index;
struct repair_request;

struct repair_manifest {
  int fd;
  const char *path;
  struct manifest_index *index;
  const struct blkhash_opts *opts;
  size_t leaf_size;             /* bytes */
  uint32_t block_size;          /* bytes */
  uint64_t size;                /* of the image, bytes */
  uint64_t data_blocks;         /* number of blocks that are not zeros */
};

/* Open the manifest of REQUEST, and check all of it, and its sum.  0, or -1
 * with the reason; then MANIFEST need not be closed.
 */
int repair_manifest_open (struct repair_manifest *manifest,
                          const struct repair_request *request,
                          struct error *error);
void repair_manifest_close (struct repair_manifest *manifest);

/* The leaves of up to MAX blocks from FIRST on, as by manifest_index_get.  0, or
 * -1 with the reason.
 */
int repair_manifest_get (const struct repair_manifest *manifest,
                         uint64_t first, uint64_t max, unsigned char *leaves,
                         struct blkhash_manifest_run *run,
                         struct error *error);

#endif /* BLKSUM_REPAIR_MANIFEST_H */
