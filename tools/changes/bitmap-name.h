/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sum in the name of a dirty bitmap: the bitmap records the changes since
 * the image had this sum.
 */

#ifndef BLKSUM_CHANGES_BITMAP_NAME_H
#define BLKSUM_CHANGES_BITMAP_NAME_H

#include <stdbool.h>

struct error;

/* Does NAME begin with "blk-" and at least the first 8 digits of a sum? */
bool bitmap_name_has_sum (const char *name);

/* Check that the digits in NAME, if it has a sum, are the first digits of SUM,
 * which is hexadecimal.  Returns 0, or -1 with the reason.
 */
int bitmap_name_check (const char *name, const char *sum,
                       struct error *error);

#endif /* BLKSUM_CHANGES_BITMAP_NAME_H */
