/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Do others use a file or block device that is to be written?
 */

#ifndef BLKSUM_WRITERS_H
#define BLKSUM_WRITERS_H

#include <sys/stat.h>

struct error;

/* Check that no other process has the disk FD, of which ST is the state, open for
 * writing, nor what it is made of, nor a loop device over that; and that no such loop
 * device that can be written is in exclusive use.  0, or -1 with the reason.
 */
int writers_check (int fd, const struct stat *st, struct error *error);

#endif /* BLKSUM_WRITERS_H */
