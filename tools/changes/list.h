/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A list that says what changed of an image since it was hashed.
 *
 * What is not in it is believed to be as it was: so whatever is odd about it is
 * an error, and nothing of it is then believed.
 */

#ifndef BLKSUM_CHANGES_LIST_H
#define BLKSUM_CHANGES_LIST_H

#include <stdint.h>

struct error;
struct ranges;

/* Read the list PATH, or standard input if it is "-": JSON, either
 * [{"start": BYTES, "length": BYTES}...], as --compare prints it, or what
 * "nbdinfo --json --map=qemu:dirty-bitmap:NAME URI" prints.  The image has SIZE
 * bytes.  RANGES, which are none before, are sorted then.  0, or -1 with the
 * reason, and RANGES are none.
 */
int changes_read (const char *path, uint64_t size, struct ranges *ranges,
                  struct error *error);

#endif /* BLKSUM_CHANGES_LIST_H */
