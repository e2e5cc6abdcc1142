/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a dirty bitmap belongs to a manifest.  The name of the bitmap can
 * contain the sum of the manifest.
 */

#ifndef BLKSUM_BITMAP_CHECK_H
#define BLKSUM_BITMAP_CHECK_H

struct error;

/* Check that the name BITMAP contains the sum of the manifest FD, whose name is
 * NAME, or the first digits of this sum.  If BITMAP contains no sum, nothing is
 * read.  Otherwise the manifest is read to its end, and the offset of FD is
 * restored after success.  Returns 0, or -1 with the reason.
 */
int bitmap_check_manifest (const char *bitmap, int fd, const char *name,
                           struct error *error);

#endif /* BLKSUM_BITMAP_CHECK_H */
