/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Probe the format of an image by its first and last bytes, or the container
 * that it is in; and the names of formats, which are the same as in qemu.
 */

#ifndef BLKSUM_PROBE_H
#define BLKSUM_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* ---- The names of formats ---- */

/* Returns true if NAME is a format that blksum can read, by itself or through
 * qemu.
 */
bool format_is_known (const char *name);

/* Returns true if NAME is a format of qemu that blksum detects, but cannot
 * read.
 */
bool format_is_unread (const char *name);

/* How the user can hash an image in such a format, which is the argument of
 * printf.
 */
#define FORMAT_CONVERT_HINT \
  "copy its disk with 'qemu-img convert -f %s -O qcow2 IMAGE COPY'"

/* Returns qemu's name of the format whose alias is NAME, or NULL if NAME is not
 * an alias.
 */
const char *format_by_alias (const char *name);

/* Returns raw and the other known formats that the installed qemu supports, or
 * all known formats if qemu-img cannot list its own.  They are separated by
 * ", ", raw first.  The caller frees the string.  Returns NULL if there is no
 * memory.
 */
char *format_list (void);

/* ---- The first and the last bytes ---- */

/* The number of bytes that qemu probes.  With fewer bytes some formats are not
 * detected.
 */
#define PROBE_SIZE 512

/* Returns the name of qemu's driver for the format of an image that starts with
 * the LEN bytes of HEAD, or "raw" if no format matches.  Two names are not
 * qemu's: "luks2" for LUKS version 2, which qemu cannot read, and "manifest"
 * for a manifest of blksum.  The string is static.
 */
const char *probe_format (const unsigned char *head, size_t len);

/* Returns the name of a container that starts with the LEN bytes of HEAD, which
 * is not an image of a disk, but can contain one: compressed data ("gzip",
 * "xz", "zstd", "bzip2"), an archive ("zip", "tar", "7z"), "E01", or "Android
 * sparse".  Returns NULL if none matches.  The string is static.
 */
const char *probe_container (const unsigned char *head, size_t len);

/* Returns "dmg", "vpc" or "raw" for an image that probe_format detects as raw,
 * and that ends with the LEN bytes of END.  Unless LEN is PROBE_SIZE, the
 * result is "raw".  Sets *DAMAGED to whether it is "raw" only because the
 * checksum of the footer of a vpc is wrong.
 */
const char *probe_end (const unsigned char *end, size_t len, bool *damaged);

#endif /* BLKSUM_PROBE_H */
