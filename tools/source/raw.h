/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A raw image in a regular file or on a block device.
 */

#ifndef BLKSUM_RAW_H
#define BLKSUM_RAW_H

#include <stdint.h>

struct error;
struct files;
struct source;
struct source_options;

/* The image starts at offset START of the one file in FILES.  The source owns
 * FILES if this succeeds.  Returns 0 or -1.
 */
int raw_open (const struct source_options *options, const struct files *files,
              uint64_t start, struct source **source, struct error *error);

#endif /* BLKSUM_RAW_H */
