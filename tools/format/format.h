/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The names of the image formats, which are qemu's.
 */

#ifndef BLKSUM_FORMAT_H
#define BLKSUM_FORMAT_H

#include <stdbool.h>

/* Is NAME a format that blksum can read, by itself or through qemu? */
bool format_is_known (const char *name);

/* qemu's name of the format with the alias NAME, or NULL. */
const char *format_by_alias (const char *name);

/* The formats that the installed qemu supports, raw first, separated by ", ".
 * The caller frees the string; NULL if there is no memory.
 */
char *format_list (void);

#endif /* BLKSUM_FORMAT_H */
