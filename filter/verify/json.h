/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write JSON: names in the status, and in messages.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_JSON_H
#define NBDKIT_BLKHASH_VERIFY_JSON_H

#include <stdio.h>

/* Write TEXT as a string without control characters.  JSON is UTF-8, names are
 * bytes: what is not UTF-8 becomes U+FFFD.
 */
void json_string (FILE *out, const char *text);

#endif /* NBDKIT_BLKHASH_VERIFY_JSON_H */
