/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Options that only print: the digests, the kernels (SIMD implementations of
 * hashes), or the version.  These functions print to stdout and return; or exit
 * with status 2 if there is no memory, or if a digest or a kernel fails.
 */

#ifndef BLKSUM_LISTS_H
#define BLKSUM_LISTS_H

void lists_digests (void);
void lists_kernels (void);
void lists_version (void);

#endif /* BLKSUM_LISTS_H */
