/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An untrusted list of checksums, which check.c and a fuzz target read line by
 * line.  The list, and each line, can have any length: memory does not grow
 * with it.  A line that is longer than any valid line is returned as
 * SUMS_DAMAGED.
 */

#ifndef BLKSUM_CHECK_H
#define BLKSUM_CHECK_H

#include "util/error.h"

struct sums_line;
struct sums_list;

/* Open the list PATH, or standard input if it is "-".  Returns NULL with the
 * reason in ERROR on failure.
 */
struct sums_list *sums_list_open (const char *path, struct error *error);

/* Is there another LINE?  It is valid until the next call.  Fails also if a
 * line has a NUL, or if the list is UTF-16 or a manifest.
 */
enum answer sums_list_next (struct sums_list *list, struct sums_line *line,
                            struct error *error);

void sums_list_close (struct sums_list *list);

#endif /* BLKSUM_CHECK_H */
