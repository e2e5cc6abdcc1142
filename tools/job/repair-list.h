/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first pass of a repair: the list of bad blocks.
 */

#ifndef BLKSUM_REPAIR_LIST_H
#define BLKSUM_REPAIR_LIST_H

#include <stdint.h>

#include "util/ranges.h"

struct error;
struct repair_manifest;
struct repair_request;
struct target;

struct repair_list {
  struct ranges ranges;         /* whole blocks: the bad ones; also good ones
                                 * if they were read only the second time, or
                                 * if there are very many ranges */
  uint64_t bad;                 /* number of bad blocks */
};

/* Compare TARGET with MANIFEST.  More bad blocks than the limit of REQUEST are an
 * error.  0; or -1 with the reason, and TARGET can only be closed.  LIST is to be
 * freed in any case.
 */
int repair_list_make (struct repair_list *list,
                      const struct repair_manifest *manifest,
                      struct target *target,
                      const struct repair_request *request,
                      struct error *error);
void repair_list_free (struct repair_list *list);

#endif /* BLKSUM_REPAIR_LIST_H */
