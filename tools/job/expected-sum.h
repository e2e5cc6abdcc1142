/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compare an expected checksum with the checksum of an image.
 */

#ifndef BLKSUM_EXPECTED_SUM_H
#define BLKSUM_EXPECTED_SUM_H

#include <stdbool.h>

struct blkhash_opts;
struct error;
struct sum;

/* The hash parameters of the last checksum, which are cached because the next
 * checksum usually has the same parameters.  Initialize it to zeros.
 */
struct expected_sum {
  char *spec;                   /* the hash spec; NULL for the defaults */
  struct blkhash_opts *opts;    /* NULL if nothing is cached */
  unsigned digits;              /* number of hex digits of a checksum */
};

/* Set the options in EXPECTED to the hash parameters of a checksum HEX with the
 * hash spec SPEC, such as "sha256/64k".  Parameters that SPEC does not contain,
 * or all if SPEC is NULL, are those of DEFAULTS, which must be the same in each
 * call.  Returns 0; or -1 with the reason if the parameters are not supported,
 * or if the length of HEX is wrong.
 */
int expected_sum_set (struct expected_sum *expected, const char *spec,
                      const char *hex,
                      const struct blkhash_opts *defaults, struct error *error);

void expected_sum_destroy (struct expected_sum *expected);

/* Returns true if HEX, in upper or lower case, is the checksum in SUM. */
bool expected_sum_matches (const char *hex, const struct sum *sum);

#endif /* BLKSUM_EXPECTED_SUM_H */
