/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is a manifest of the digest, block size and construction that were asked for?
 */

#ifndef BLKSUM_KIND_H
#define BLKSUM_KIND_H

struct blkhash_opts;
struct error;
struct hash_request;

/* Is a manifest of OPTS what the user asked for, if he did?  0, or -1 with the
 * reason.
 */
int kind_check (const struct hash_request *request,
                const struct blkhash_opts *opts, struct error *error);

#endif /* BLKSUM_KIND_H */
