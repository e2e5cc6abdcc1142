/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Characters in UTF-8: names are bytes, and most of them are UTF-8.
 */

#ifndef BLKHASH_UTF8_H
#define BLKHASH_UTF8_H

#include <stddef.h>

/* Returns the length in bytes of the character at S, or 0 if it is not valid
 * UTF-8.
 */
size_t utf8_length (const char *s);

#endif /* BLKHASH_UTF8_H */
