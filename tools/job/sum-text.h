/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A checksum in the argument of an option.
 */

#ifndef BLKSUM_SUM_TEXT_H
#define BLKSUM_SUM_TEXT_H

struct blkhash_opts;
struct error;
struct expected_sum;

/* Parse TEXT, the argument of OPTION.  Set EXPECTED to its hash parameters;
 * those that are not in TEXT are taken from DEFAULTS.  Set *HEX to the
 * hexadecimal digits, which are a part of TEXT.  TEXT is modified.  EXPECTED
 * must be zeroed before, and destroyed in any case.  Returns 0, or -1 with the
 * reason in ERROR.
 */
int sum_text_parse (char *text, const char *option,
                    const struct blkhash_opts *defaults,
                    struct expected_sum *expected, const char **hex,
                    struct error *error);

#endif /* BLKSUM_SUM_TEXT_H */
