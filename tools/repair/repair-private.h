/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a repair knows of its disk: the manifest, the list of the bad blocks,
 * and whether a block has the expected content.
 */

#ifndef BLKSUM_REPAIR_PRIVATE_H
#define BLKSUM_REPAIR_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blkhash_manifest_run;
struct blkhash_opts;
struct error;
struct manifest_index;
struct repair_request;
struct target;

/* ---- The manifest ---- */

/* The manifest that a disk is repaired to match.
 *
 * The manifest decides what is written to the disk.  Therefore its sum must
 * match a sum that the user has from another place, unless the user chooses to
 * trust the manifest.
 *
 * The sources are not trusted, so nothing is written if the digest is not
 * cryptographic.
 */

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

/* ---- A block ---- */

/* The expected content of a block. */
struct block_expected {
  bool zero;                    /* all zeros; otherwise data with LEAF */
  const unsigned char *leaf;
};

/* Set *GOOD to whether the LEN bytes of BUF, at most a block of the size in
 * OPTS, are as expected.  The block is hashed with a leaf table (struct
 * blkhash_leaves), as if it were a whole image.  So the result is always the
 * same as when the image is compared with the manifest.  Returns 0, or an errno
 * value.
 */
int block_check (const struct blkhash_opts *opts, const void *buf, size_t len,
                 const struct block_expected *expected, bool *good);

/* ---- The bad blocks ---- */

/* The first pass of a repair: list the bad blocks.
 *
 * The disk is hashed, and its leaves are compared with the leaves in the
 * manifest.  The leaves of bad blocks on the disk are kept, because the second
 * pass does not write a block that has changed since.
 *
 * If the manifest is of another disk, there are many bad blocks, and reading
 * ends at the limit.  The limit is relative to the number of blocks with data
 * in the manifest, not to the number of all blocks: two unrelated disks of 1
 * TiB with a few GiB of data each differ in a small part of all blocks, but in
 * nearly all blocks with data.  All bad blocks count against the limit,
 * including blocks with data that should be zeros.
 *
 * A read error ends the repair: a block that cannot be read could be good.
 */

struct repair_list {
  size_t count, room;           /* bad blocks */
  unsigned char *records;       /* one for each bad block, in ascending order */
  size_t leaf_size;             /* bytes */
};

/* Compare TARGET with MANIFEST, and store the bad blocks in LIST.  It is an
 * error if there are more bad blocks than the limit of REQUEST.  Returns 0, or
 * -1 with the reason in ERROR; in the latter case TARGET can only be closed.
 * The caller must free LIST in both cases.
 */
int repair_list_make (struct repair_list *list,
                      const struct repair_manifest *manifest,
                      const struct target *target,
                      const struct repair_request *request,
                      struct error *error);
void repair_list_free (struct repair_list *list);

/* Returns the block number of bad block I of LIST, and stores in *FOUND the
 * content that it had on the disk.
 */
uint64_t repair_list_get (const struct repair_list *list, size_t i,
                          struct block_expected *found);

#endif /* BLKSUM_REPAIR_PRIVATE_H */
