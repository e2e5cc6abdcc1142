/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Format a checksum as a line of text.  blksum, except with --output=json, and
 * the nbdkit filters print checksums in this form.
 */

#ifndef BLKHASH_SUM_LINE_H
#define BLKHASH_SUM_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "blkhash.h"

/* The size of a buffer for any checksum in hexadecimal digits. */
#define SUM_HEX_SIZE (2 * BLKHASH_MAX_MD_SIZE + 1)

/* Format "HEX  NAME", or if TAG is set "blk-sha256/64k (NAME) = HEX", where
 * "blk-sha256/64k" stands for the tag of OPTS.  If NAME is NULL, the line is
 * "HEX" or "blk-sha256/64k = HEX".  If ESCAPE is set, backslash, newline and
 * carriage return in NAME are escaped, and a line with an escaped name starts
 * with a backslash, as in coreutils.
 *
 * The line does not end with a newline.  The caller frees the string.  Returns
 * NULL if there is no memory.
 */
char *sum_line (const struct blkhash_opts *opts,
                const unsigned char *md, size_t md_len,
                const char *name, bool tag, bool escape);

/* Returns a copy of NAME, escaped as by sum_line with ESCAPE.  The caller frees
 * it.  Returns NULL if there is no memory.
 */
char *sum_line_escape (const char *name);

/* Store MD in HEX, which has room for 2 * MD_LEN + 1 bytes, as lowercase
 * hexadecimal digits.
 */
void sum_line_hex (const unsigned char *md, size_t md_len, char *hex);

/* The size of a buffer for any "blk-SPEC:HEX". */
#define SUM_TEXT_SIZE (BLKHASH_MAX_TAG_SIZE + SUM_HEX_SIZE)

/* Store "blk-SPEC:HEX" in TEXT, as it is in JSON. */
void sum_line_text (const struct blkhash_opts *opts, const unsigned char *md,
                    char text[SUM_TEXT_SIZE]);

#endif /* BLKHASH_SUM_LINE_H */
