/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The name of a dirty bitmap can say since which sum it tells what changed.
 */

#ifndef BLKSUM_CHANGES_BITMAP_NAME_H
#define BLKSUM_CHANGES_BITMAP_NAME_H

#include <stdbool.h>

struct error;

/* Does NAME say of a sum?  "blk-" and 8 of its hexadecimal digits or more
 * do.
 */
bool bitmap_name_has_sum (const char *name);

/* Does it say of no other sum than SUM, in hexadecimal digits?  0, or -1 with
 * the reason.
 */
int bitmap_name_check (const char *name, const char *sum,
                       struct error *error);

#endif /* BLKSUM_CHANGES_BITMAP_NAME_H */
