/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Checksums as text: format a line, as blksum, except with --output=json, and
 * the nbdkit filters print it; parse a line of a list of such lines; and parse
 * an expected sum.  blkhash_sum_parse of the API is in sums.c, too.
 *
 * A sum is "HEX", "blk-SPEC = HEX" or "blk-SPEC:HEX".  With a name it is
 * "HEX  NAME", "HEX *NAME" or "blk-SPEC (NAME) = HEX"; the name is escaped if
 * the line begins with a backslash.  The plain digest of the content of an
 * image is written like a sum with a tag, but with "content-DIGEST" for
 * "blk-SPEC".
 */

#ifndef BLKHASH_SUMS_H
#define BLKHASH_SUMS_H

#include <stdbool.h>
#include <stddef.h>

#include "blkhash.h"

/* ---- Format a line ---- */

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

/* The same for the digest DIGEST of the content of an image, which always has a
 * tag.
 */
char *sum_line_content (const char *digest,
                        const unsigned char *md, size_t md_len,
                        const char *name, bool escape);

/* Returns a copy of NAME, escaped as by sum_line with ESCAPE.  The caller frees
 * it.  Returns NULL if there is no memory.
 */
char *sum_line_escape (const char *name);

/* Store MD in HEX, which has room for 2 * MD_LEN + 1 bytes, as lowercase
 * hexadecimal digits.
 */
void sum_line_hex (const unsigned char *md, size_t md_len, char *hex);

/* The size of a buffer for any "blk-SPEC:HEX" or "content-DIGEST:HEX". */
#define SUM_TEXT_SIZE (sizeof "content-" + BLKHASH_MAX_TAG_SIZE + SUM_HEX_SIZE)

/* Store "blk-SPEC:HEX" in TEXT, as it is in JSON. */
void sum_line_text (const struct blkhash_opts *opts, const unsigned char *md,
                    char text[SUM_TEXT_SIZE]);

/* ---- Parse a line ----
 *
 * The line is one of a list, or a single sum.  A carriage return at the end is
 * ignored.  The caller checks the name of the digest and the length of the sum:
 * see expected_sum_init.
 */

enum sums_type {
  SUMS_NOTHING,                 /* an empty line, or a comment */
  SUMS_SUM,                     /* a checksum */
  SUMS_CONTENT,                 /* a digest of the content */
  SUMS_UNKNOWN,                 /* a filter's line for an image without a
                                 * checksum */
  SUMS_DIFFERS,                 /* a filter's line for an image that differs
                                 * from its manifest */
  SUMS_OTHER,                   /* text, or a checksum of another program */
  SUMS_DAMAGED,                 /* looks like a checksum, but is invalid */
};

struct sums_line {
  enum sums_type type;
  const char *name;             /* of SUM, CONTENT, UNKNOWN, DIFFERS, without
                                 * escapes; NULL: none, only by
                                 * sums_line_parse_text */
  const char *spec;             /* of SUM: "sha256/64k"; NULL: none; of CONTENT
                                 * and of the sum of a file: the digest */
  const char *hex;              /* of SUM and CONTENT, and of the sum of a file:
                                 * hexadecimal digits, any number */
  const char *why;              /* of UNKNOWN and DAMAGED: the reason; of
                                 * DIFFERS: "N bytes" */
  bool foreign;                 /* of OTHER, and of DAMAGED by
                                 * sums_line_parse_text: it looks like the
                                 * checksum of a file, which another program
                                 * wrote; SPEC and HEX are set */
};

/* Parse TEXT, a line of LEN bytes with no newline and no NUL, followed by a
 * NUL.  TEXT is modified, and LINE points into it.  A sum without a name is
 * damaged.
 */
void sums_line_parse (char *text, size_t len, struct sums_line *line);

/* Parse TEXT, lines of which exactly one is a sum, or a digest of the content,
 * with or without a name, and all others are empty or comments.  Set SUM to
 * that line, or to SUMS_DAMAGED with the reason; a line "# unknown" or
 * "# differs" is a reason, too.  TEXT is modified, and SUM points into it.
 */
void sums_line_parse_text (char *text, struct sums_line *sum);

/* ---- An expected sum, which a user or a list gives ---- */

struct expected_sum {
  struct blkhash_opts *opts;    /* hash parameters */
  bool tagged;                  /* the sum has a tag */
  bool content;                 /* it is a plain digest of the content, by the
                                 * digest of OPTS */
  unsigned char md[BLKHASH_MAX_MD_SIZE]; /* the bytes of the digest of OPTS */
};

/* Set SUM to that of LINE, which is of type SUMS_SUM or SUMS_CONTENT.  Hash
 * parameters that its tag does not contain, or all if it has none, are those of
 * DEFAULTS, or those of blksum if DEFAULTS is NULL.  Returns 0; or EINVAL or
 * ENOMEM with the reason in REASON, which has BLKHASH_MAX_REASON_SIZE bytes,
 * and SUM needs not be destroyed.
 */
int expected_sum_init (struct expected_sum *sum, const struct sums_line *line,
                       const struct blkhash_opts *defaults, char *reason);

/* The same for TEXT, the argument of an option: see sums_line_parse_text.  A
 * digest of the content is refused.
 */
int expected_sum_parse (struct expected_sum *sum, const char *text,
                        const struct blkhash_opts *defaults, char *reason);

void expected_sum_destroy (struct expected_sum *sum);

/* Format MD, the bytes of another sum that is computed like SUM, with a tag and
 * without a name: as a line, as sum_line does, and as sum_line_text does.
 */
char *expected_sum_line (const struct expected_sum *sum,
                         const unsigned char *md);
void expected_sum_text (const struct expected_sum *sum,
                        const unsigned char *md, char text[SUM_TEXT_SIZE]);

#endif /* BLKHASH_SUMS_H */
