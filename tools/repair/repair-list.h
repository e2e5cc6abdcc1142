/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first pass of a repair: list the bad blocks.
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

#ifndef BLKSUM_REPAIR_LIST_H
#define BLKSUM_REPAIR_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "repair/block-check.h"

struct error;
struct repair_manifest;
struct repair_request;
struct target;

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

#endif /* BLKSUM_REPAIR_LIST_H */
