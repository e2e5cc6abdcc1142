/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A checksum in the argument of an option.
 */

#ifndef BLKSUM_SUM_TEXT_H
#define BLKSUM_SUM_TEXT_H

struct error;

/* Split TEXT, the argument of OPTION, into the hash spec, such as
 * "sha256/64k", and the hexadecimal digits.  *SPEC is set to NULL if TEXT has
 * only digits.  Both point into TEXT, which is modified.  Returns 0, or -1
 * with the reason in ERROR.
 */
int sum_text_split (char *text, const char *option, const char **spec,
                    const char **hex, struct error *error);

#endif /* BLKSUM_SUM_TEXT_H */
