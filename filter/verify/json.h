/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write JSON: names in the status, and in messages.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_JSON_H
#define NBDKIT_BLKHASH_VERIFY_JSON_H

#include <stdio.h>

/* Write TEXT as a string, with control characters escaped.  A name can have any
 * bytes, but JSON is UTF-8: each byte that is not becomes U+FFFD.
 */
void json_string (FILE *out, const char *text);

#endif /* NBDKIT_BLKHASH_VERIFY_JSON_H */
