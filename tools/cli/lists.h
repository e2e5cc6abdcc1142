/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Options that only print: the digests, or the version.  These functions print
 * to stdout and return; or exit with status 2 if there is no memory.
 */

#ifndef BLKSUM_LISTS_H
#define BLKSUM_LISTS_H

void lists_digests (void);
void lists_version (void);

#endif /* BLKSUM_LISTS_H */
