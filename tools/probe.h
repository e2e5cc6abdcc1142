/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which image format do the first bytes of a file look like?
 */

#ifndef BLKSUM_PROBE_H
#define BLKSUM_PROBE_H

#include <stddef.h>

/* qemu probes this many bytes; with fewer some formats are not seen. */
#define PROBE_SIZE 512

/* The name of qemu's driver for the format of an image that starts with the
 * LEN bytes of HEAD, "raw" when it looks like none.  The string is static.
 */
const char *probe_format (const unsigned char *head, size_t len);

#endif /* BLKSUM_PROBE_H */
