/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A mapfile that blkhash has created, as a list of changed ranges.
 */

#ifndef BLKSUM_CHANGES_MAPFILE_H
#define BLKSUM_CHANGES_MAPFILE_H

#include <stdint.h>
#include <stdio.h>

struct error;
struct ranges;

/* Read the mapfile NAME from IN, and add its ranges with the status "+" to
 * RANGES.  The image has SIZE bytes.  Returns 0, or -1 with the reason.
 */
int mapfile_read (FILE *in, const char *name, uint64_t size,
                  struct ranges *ranges, struct error *error);

#endif /* BLKSUM_CHANGES_MAPFILE_H */
