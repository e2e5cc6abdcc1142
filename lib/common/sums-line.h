/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parse a line of a list of checksums, as blksum and the filters write it.  The
 * caller checks the name of the digest and the length of the sum.
 */

#ifndef BLKHASH_SUMS_LINE_H
#define BLKHASH_SUMS_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum sums_type {
  SUMS_NOTHING,                 /* an empty line, or a comment */
  SUMS_SUM,                     /* a checksum */
  SUMS_UNKNOWN,                 /* a filter's line for an image without a
                                 * checksum */
  SUMS_DIFFERS,                 /* a filter's line for an image that differs
                                 * from its manifest */
  SUMS_OTHER,                   /* text, or a checksum of another program */
  SUMS_DAMAGED,                 /* looks like a checksum, but is invalid */
};

struct sums_line {
  enum sums_type type;
  const char *name;             /* of SUM, UNKNOWN, DIFFERS, without escapes */
  const char *spec;             /* of SUM: "sha256/64k"; NULL: none */
  const char *hex;              /* of SUM: hexadecimal digits, any number */
  const char *why;              /* of UNKNOWN and DAMAGED: the reason; of
                                 * DIFFERS: "N bytes" */
  bool foreign;                 /* of OTHER: it looks like the checksum of a
                                 * file, which another program wrote */
};

/* Parse TEXT, a line of LEN bytes with no newline and no NUL, followed by a
 * NUL.  TEXT is modified, and LINE points into it.
 */
void sums_line_parse (char *text, size_t len, struct sums_line *line);

#endif /* BLKHASH_SUMS_LINE_H */
