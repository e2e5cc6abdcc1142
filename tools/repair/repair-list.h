/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first pass of a repair: list the bad blocks.
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
  uint64_t *blocks;             /* block numbers, in ascending order */
  unsigned char *records;       /* for each bad block, its content on the disk:
                                 * a byte, which is 0 for zeros and 1 for data,
                                 * and the leaf */
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

/* Returns the content that the disk had in bad block I of LIST. */
struct block_expected repair_list_found (const struct repair_list *list,
                                         size_t i);

#endif /* BLKSUM_REPAIR_LIST_H */
