/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Characters in UTF-8.  A name can have any bytes, but most names are UTF-8.
 */

#ifndef BLKHASH_UTF8_H
#define BLKHASH_UTF8_H

#include <stddef.h>

/* Returns the length in bytes of the character at S, in a string that ends with
 * a null byte; or 0 if the bytes at S are not valid UTF-8.
 */
size_t utf8_length (const char *s);

#endif /* BLKHASH_UTF8_H */
