/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which image format does a file look like?
 */

#ifndef BLKSUM_PROBE_H
#define BLKSUM_PROBE_H

#include <stddef.h>

/* qemu probes this many bytes; with fewer some formats are not seen. */
#define PROBE_SIZE 512

/* The name of qemu's driver for the format of an image that starts with the
 * LEN bytes of HEAD, "raw" when it looks like none.  For LUKS version 2, which
 * qemu cannot read, it is "luks2".  The string is static.
 */
const char *probe_format (const unsigned char *head, size_t len);

/* The same for the format of an image that looks like none by its first bytes
 * and ends with the LEN bytes of END.
 */
const char *probe_end (const unsigned char *end, size_t len);

#endif /* BLKSUM_PROBE_H */
