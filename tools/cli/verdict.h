/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a check found, in the words of sha256sum --check.
 */

#ifndef BLKSUM_VERDICT_H
#define BLKSUM_VERDICT_H

#include <stdint.h>

/* What was found in a list: numbers of its lines. */
struct verdicts {
  uint64_t formatted;           /* that have a checksum, or say why not */
  uint64_t malformed;           /* that should, and all others, but comments */
  uint64_t matched, mismatched;
  uint64_t unread;              /* the image could not be hashed */
  uint64_t incomplete;          /* the filter had no checksum for the list */
};

/* Print "NAME: VERDICT" on stdout.  0, or an errno value if it could not be
 * written.
 */
int verdict_print (const char *name, const char *verdict);

/* Say on stderr how many of them are wrong. */
void verdicts_warn (const struct verdicts *verdicts);

#endif /* BLKSUM_VERDICT_H */
