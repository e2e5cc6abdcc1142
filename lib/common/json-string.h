/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write a JSON string.
 */

#ifndef BLKHASH_JSON_STRING_H
#define BLKHASH_JSON_STRING_H

#include <stdbool.h>
#include <stdio.h>

/* Write TEXT in quotes, with control characters escaped.  TEXT, for
 * instance a file name, need not be valid UTF-8, but JSON must be.  So each
 * byte that is not part of a valid character is written as U+FFFD.
 *
 * Returns false if a part could not be written.  Callers cannot rely on ferror:
 * a stream of open_memstream sets no error flag if there is no memory.
 */
bool json_string (FILE *out, const char *text);

#endif /* BLKHASH_JSON_STRING_H */
