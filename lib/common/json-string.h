/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write JSON: names in the status, and in messages.
 */

#ifndef BLKHASH_JSON_STRING_H
#define BLKHASH_JSON_STRING_H

#include <stdio.h>

/* Write TEXT as a string, with control characters escaped.  A name can have any
 * bytes, but JSON is UTF-8: each byte that is not becomes U+FFFD.
 */
void json_string (FILE *out, const char *text);

#endif /* BLKHASH_JSON_STRING_H */
