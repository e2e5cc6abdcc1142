/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print lists about blksum itself on stdout, without doing a job.
 */

#ifndef BLKSUM_LISTS_H
#define BLKSUM_LISTS_H

void lists_digests (void);
void lists_kernels (void);
void lists_version (void);

#endif /* BLKSUM_LISTS_H */
