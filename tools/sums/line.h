/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line of a list of checksums: what blksum and the filter write, read again.
 * Which digests there are, and how long their sums, is not known here.
 */

#ifndef BLKSUM_SUMS_LINE_H
#define BLKSUM_SUMS_LINE_H

#include <stddef.h>

enum sums_type {
  SUMS_NOTHING,                 /* an empty line, or a comment */
  SUMS_SUM,                     /* a checksum */
  SUMS_INCOMPLETE,              /* the filter says why there is none */
  SUMS_OTHER,                   /* text, or a checksum of another program */
  SUMS_DAMAGED,                 /* what looks like a checksum, and is not one */
};

struct sums_line {
  enum sums_type type;
  const char *name;             /* of SUM and INCOMPLETE, without escapes */
  const char *spec;             /* of SUM: "sha256/64k", or NULL: not said */
  const char *hex;              /* of SUM: hexadecimal digits, any number */
  const char *why;              /* of INCOMPLETE and DAMAGED */
};

/* Parse the LEN bytes of TEXT, a line without its end, and without NULs but the
 * one behind it.  They are changed, and LINE points into them.
 */
void sums_line_parse (char *text, size_t len, struct sums_line *line);

#endif /* BLKSUM_SUMS_LINE_H */
