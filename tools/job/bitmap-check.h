/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a dirty bitmap belongs to a manifest.  The name of the bitmap can
 * contain the sum of the manifest.
 */

#ifndef BLKSUM_BITMAP_CHECK_H
#define BLKSUM_BITMAP_CHECK_H

struct error;

/* Check that the sum in the name BITMAP, if it has one, is the sum of the
 * manifest FD, whose name is NAME.  This reads the manifest, and then restores
 * the offset of FD.  Returns 0, or -1 with the reason.
 */
int bitmap_check_manifest (const char *bitmap, int fd, const char *name,
                           struct error *error);

#endif /* BLKSUM_BITMAP_CHECK_H */
