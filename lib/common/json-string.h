/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write a string of JSON.
 */

#ifndef BLKHASH_JSON_STRING_H
#define BLKHASH_JSON_STRING_H

#include <stdbool.h>
#include <stdio.h>

/* Write TEXT as a string, with control characters escaped.  A name can have any
 * bytes, but JSON is UTF-8: each byte that is not valid UTF-8 becomes U+FFFD.
 * Returns false if a part could not be written.  Callers cannot rely on ferror:
 * a stream of open_memstream sets no error flag if there is no memory.
 */
bool json_string (FILE *out, const char *text);

#endif /* BLKHASH_JSON_STRING_H */
