/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The manifest that a disk is repaired to match.
 *
 * The manifest decides what is written to the disk.  Therefore its sum must
 * match a sum that the user has from another place, unless the user chooses to
 * trust the manifest.
 *
 * The sources are not trusted, so nothing is written if the digest is not
 * cryptographic.
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

/* Open the manifest of REQUEST, check all of it, and compare its sum with the
 * expected sum, unless that is "none".  Returns 0, or -1 with the reason in
 * ERROR; in the latter case MANIFEST must not be closed.
 */
int repair_manifest_open (struct repair_manifest *manifest,
                          const struct repair_request *request,
                          struct error *error);
void repair_manifest_close (struct repair_manifest *manifest);

/* Get the leaves of at most MAX blocks, starting with block FIRST, as
 * manifest_index_get does.  Returns 0, or -1 with the reason in ERROR.
 */
int repair_manifest_get (const struct repair_manifest *manifest,
                         uint64_t first, uint64_t max, unsigned char *leaves,
                         struct blkhash_manifest_run *run,
                         struct error *error);

#endif /* BLKSUM_REPAIR_MANIFEST_H */
