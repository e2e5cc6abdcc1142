/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parse a line of a list of checksums, as blksum and the filters write it, or a
 * single sum.  The caller checks the name of the digest and the length of the
 * sum: see expected-sum.h.
 *
 * A sum is "HEX", "blk-SPEC = HEX" or "blk-SPEC:HEX".  With a name it is
 * "HEX  NAME", "HEX *NAME" or "blk-SPEC (NAME) = HEX"; the name is escaped if
 * the line begins with a backslash.  A carriage return at the end is ignored.
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
  const char *name;             /* of SUM, UNKNOWN, DIFFERS, without escapes;
                                 * NULL: none, only by sums_line_parse_text */
  const char *spec;             /* of SUM: "sha256/64k"; NULL: none */
  const char *hex;              /* of SUM: hexadecimal digits, any number */
  const char *why;              /* of UNKNOWN and DAMAGED: the reason; of
                                 * DIFFERS: "N bytes" */
  bool foreign;                 /* of OTHER: it looks like the checksum of a
                                 * file, which another program wrote */
};

/* Parse TEXT, a line of LEN bytes with no newline and no NUL, followed by a
 * NUL.  TEXT is modified, and LINE points into it.  A sum without a name is
 * damaged.
 */
void sums_line_parse (char *text, size_t len, struct sums_line *line);

/* Parse TEXT, lines of which exactly one is a sum, with or without a name, and
 * all others are empty or comments.  Set SUM to that line, or to SUMS_DAMAGED
 * with the reason; a line "# unknown" or "# differs" is a reason, too.  TEXT is
 * modified, and SUM points into it.
 */
void sums_line_parse_text (char *text, struct sums_line *sum);

#endif /* BLKHASH_SUMS_LINE_H */
