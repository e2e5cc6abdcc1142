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

/* How to hash an image that is to have the checksum HEX: as KIND says, such as
 * "sha256/64k", and what it does not say, or all if it is NULL, as in DEFAULTS.
 * The caller frees it.  NULL with the reason: nobody here can make such a
 * checksum, or it has another length.
 */
struct blkhash_opts *known_opts (const char *kind, const char *hex,
                                 const struct blkhash_opts *defaults,
                                 struct error *error);

/* Is it the checksum of the image? */
bool known_matches (const char *hex, const struct sum *sum);

#endif /* BLKSUM_JOB_KNOWN_H */
