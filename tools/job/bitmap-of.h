/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is a dirty bitmap that of a manifest?  Its name can tell.
 */

#ifndef BLKSUM_BITMAP_OF_H
#define BLKSUM_BITMAP_OF_H

struct error;

/* If BITMAP says since which sum it tells what changed, is that the sum of the
 * manifest FD, which is called NAME?  It is read then, and FD is where it was.
 * 0, or -1 with the reason.
 */
int bitmap_of_manifest (const char *bitmap, int fd, const char *name,
                        struct error *error);

#endif /* BLKSUM_BITMAP_OF_H */
