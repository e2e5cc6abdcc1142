/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The lists of digests and kernels, and the version, as options print them to
 * stdout.  The functions return; if there is no memory they exit with status 2.
 */

#ifndef BLKSUM_LISTS_H
#define BLKSUM_LISTS_H

void lists_digests (void);
void lists_kernels (void);
void lists_version (void);

#endif /* BLKSUM_LISTS_H */
