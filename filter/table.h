/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The leaf tables of exports, which share the memory for partial blocks.
 */

#ifndef NBDKIT_BLKHASH_TABLE_H
#define NBDKIT_BLKHASH_TABLE_H

#include <stdint.h>

struct blkhash_leaves;

/* The maximum number of blocks of an export; an export with more has no sum.
 * With blocks of 64 KiB this is 128 TiB, and to hash a hole of that size takes
 * about 40 s.  Without a limit, an export of 8 EiB, which costs nothing to
 * serve, would delay the server's exit for weeks.
 */
#define TABLE_MAX_BLOCKS (UINT64_C (1) << 31)

/* Create a leaf table for an export of SIZE bytes.  Returns NULL with errno. */
struct blkhash_leaves *table_new (uint64_t size);

/* Create a leaf table with the leaves of the manifest in FD, and set *SIZE to
 * the size of the image in bytes.  Returns NULL after nbdkit_error if the
 * manifest is damaged, has a wrong sum, describes only a part of an image, has
 * more than TABLE_MAX_BLOCKS blocks, or has other hash parameters than this
 * filter; or on another error.
 */
struct blkhash_leaves *table_load (int fd, uint64_t *size);

#endif /* NBDKIT_BLKHASH_TABLE_H */
