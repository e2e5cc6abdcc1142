/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fill a leaf table from what can only be read from its start to its end.
 */

#ifndef BLKSUM_STREAM_H
#define BLKSUM_STREAM_H

#include <stddef.h>

struct error;
struct fill;
struct range;
struct source_options;

/* Read what comes next into BUF, up to SIZE bytes, and set RANGE to it.  One
 * thread at a time.  1, 0 at the end, or -1 with the reason in ERROR.
 */
typedef int (*stream_function) (void *opaque, void *buf, size_t size,
                                struct range *range, struct error *error);

/* Read all of it, missing or not.  0, or -1 with the reason in FILL. */
int stream_fill (stream_function read_next, void *opaque,
                 const struct source_options *options, struct fill *fill);

#endif /* BLKSUM_STREAM_H */
