/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ranges of an image that changed since it was hashed: a list in JSON, or a
 * mapfile, that another program has made; and the sum in the name of a dirty
 * bitmap.
 *
 * All other ranges are trusted to be unchanged.  So any irregularity in the
 * list is an error, and then none of it is used.
 */

#ifndef BLKSUM_CHANGES_H
#define BLKSUM_CHANGES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct ranges;

/* Read the list in the file PATH; "-" is standard input.  The image has SIZE
 * bytes.  The ranges are added to RANGES, which is sorted.  Returns 0; or -1
 * with the reason, and RANGES is empty.
 */
int changes_read (const char *path, uint64_t size, struct ranges *ranges,
                  struct error *error);

/* The same for the list that is read from IN, and has this NAME in messages. */
int changes_read_stream (FILE *in, const char *name, uint64_t size,
                         struct ranges *ranges, struct error *error);

/* ---- The name of a dirty bitmap ---- */

/* It can have a sum: the bitmap records the changes since the image had it. */

/* Does NAME begin with "blk-" and at least the first 8 digits of a sum? */
bool bitmap_name_has_sum (const char *name);

/* Check that the digits in NAME, if it has a sum, are the first digits of SUM,
 * which is hexadecimal.  Returns 0, or -1 with the reason.
 */
int bitmap_name_check (const char *name, const char *sum,
                       struct error *error);

#endif /* BLKSUM_CHANGES_H */
