/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first pass of a repair: the list of bad blocks.
 */

#ifndef BLKSUM_REPAIR_LIST_H
#define BLKSUM_REPAIR_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "leaves/block-check.h"

struct error;
struct repair_manifest;
struct repair_request;
struct target;

struct repair_list {
  size_t count, room;           /* bad blocks */
  uint64_t *blocks;             /* their numbers, in order */
  unsigned char *records;       /* what the disk has in each: 0 for zeros, or 1,
                                 * and the leaf */
  size_t leaf_size;             /* bytes */
};

/* Compare TARGET with MANIFEST.  More bad blocks than the limit of REQUEST are an
 * error.  0; or -1 with the reason, and TARGET can only be closed.  LIST is to be
 * freed in any case.
 */
int repair_list_make (struct repair_list *list,
                      const struct repair_manifest *manifest,
                      const struct target *target,
                      const struct repair_request *request,
                      struct error *error);
void repair_list_free (struct repair_list *list);

/* Returns what the disk had in bad block I of LIST. */
struct block_expected repair_list_found (const struct repair_list *list,
                                         size_t i);

#endif /* BLKSUM_REPAIR_LIST_H */
