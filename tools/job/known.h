/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A checksum that somebody gave us, to be compared with what an image has.
 */

#ifndef BLKSUM_JOB_KNOWN_H
#define BLKSUM_JOB_KNOWN_H

#include <stdbool.h>

struct blkhash_opts;
struct error;
struct sum;

/* How such a checksum is made.  Zeros before the first use; it is kept for the
 * next checksum, which is most often of the same kind.
 */
struct known {
  char *kind;                   /* of which these are, or NULL: the defaults */
  struct blkhash_opts *opts;    /* NULL: of none */
  unsigned digits;
};

/* Find out how to hash an image that is to have the checksum HEX: as KIND says,
 * such as "sha256/64k", and what it does not say, or all if it is NULL, as in
 * DEFAULTS, which are the same in each call.  0 with the options in KNOWN, or
 * -1 with the reason: nobody here can make such a checksum, or it has another
 * length.
 */
int known_set (struct known *known, const char *kind, const char *hex,
               const struct blkhash_opts *defaults, struct error *error);

void known_destroy (struct known *known);

/* Is it the checksum of the image? */
bool known_matches (const char *hex, const struct sum *sum);

#endif /* BLKSUM_JOB_KNOWN_H */
