/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Format a checksum as a line of text.  blksum and the nbdkit filter print all
 * checksums in this form.
 */

#ifndef BLKHASH_SUM_LINE_H
#define BLKHASH_SUM_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct blkhash_opts;

/* "HEX  NAME", or with TAG "blk-sha256/64k (NAME) = HEX", which has the
 * parameters of the hash.  A NULL name is left out.  With ESCAPE, backslash,
 * newline and carriage return in a name are escaped, and a line with an escaped
 * name starts with a backslash, as in coreutils.
 *
 * There is no line end.  The caller frees the string; NULL: no memory.
 */
char *sum_line (const struct blkhash_opts *opts,
                const unsigned char *md, size_t md_len,
                const char *name, bool tag, bool escape);

/* NAME escaped, or a copy of it if nothing needs to be. */
char *sum_line_escape (const char *name);

/* MD as hexadecimal digits. */
char *sum_line_hex (const unsigned char *md, size_t md_len);

#endif /* BLKHASH_SUM_LINE_H */
