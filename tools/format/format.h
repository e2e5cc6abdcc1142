/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The names of the image formats, which are qemu's.
 */

#ifndef BLKSUM_FORMAT_H
#define BLKSUM_FORMAT_H

#include <stdbool.h>

/* Is it one that blksum can read, raw or through qemu? */
bool format_is_known (const char *name);

/* The name in qemu of a format that is called NAME elsewhere, or NULL. */
const char *format_by_alias (const char *name);

/* The names of those that the qemu here has, raw first, with ", " between them.
 * The caller frees it; NULL if there is no memory.
 */
char *format_list (void);

#endif /* BLKSUM_FORMAT_H */
