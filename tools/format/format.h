/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The names of the image formats.  They are the same as in qemu.
 */

#ifndef BLKSUM_FORMAT_H
#define BLKSUM_FORMAT_H

#include <stdbool.h>

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

#endif /* BLKSUM_FORMAT_H */
