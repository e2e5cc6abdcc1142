/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The name of a dirty bitmap can say since which sum it tells what changed.
 */

#ifndef BLKSUM_CHANGES_BITMAP_NAME_H
#define BLKSUM_CHANGES_BITMAP_NAME_H

struct error;

/* Is NAME no name that says of another sum than SUM, in hexadecimal digits?
 * "blk-" and 8 digits of a sum or more say that; any other says nothing.  0, or
 * -1 with the reason.
 */
int bitmap_name_check (const char *name, const char *sum,
                       struct error *error);

#endif /* BLKSUM_CHANGES_BITMAP_NAME_H */
