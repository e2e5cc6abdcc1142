/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Options that print and exit: the digests, the kernels, the version.  They
 * print on stdout.
 */

#ifndef BLKSUM_LISTS_H
#define BLKSUM_LISTS_H

void lists_digests (void);
void lists_kernels (void);
void lists_version (void);

#endif /* BLKSUM_LISTS_H */
