/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An expected checksum, to be compared with the checksum of an image.
 */

#ifndef BLKSUM_EXPECTED_SUM_H
#define BLKSUM_EXPECTED_SUM_H

#include <stdbool.h>

struct blkhash_opts;
struct error;
struct sum;

/* The hash parameters of the last checksum.  They are cached because the next
 * checksum usually has the same.  Zeros before the first use.
 */
struct known {
  char *kind;                   /* the hash spec; NULL: the defaults */
  struct blkhash_opts *opts;    /* NULL: none yet */
  unsigned digits;
};

/* Choose how to hash an image whose expected checksum is HEX.  The parameters
 * are those of the hash spec KIND, such as "sha256/64k".  DEFAULTS has those
 * that KIND does not contain, or all if KIND is NULL, and is the same in each
 * call.  0 with the options in KNOWN.  -1 with the reason if the parameters are
 * not supported, or if the length of HEX is wrong.
 */
int known_set (struct known *known, const char *kind, const char *hex,
               const struct blkhash_opts *defaults, struct error *error);

void known_destroy (struct known *known);

/* True if HEX is the checksum of the image. */
bool known_matches (const char *hex, const struct sum *sum);

#endif /* BLKSUM_EXPECTED_SUM_H */
