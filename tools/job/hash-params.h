/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a manifest has the digest, block size and construction of the
 * request.
 */

#ifndef BLKSUM_HASH_PARAMS_H
#define BLKSUM_HASH_PARAMS_H

struct blkhash_opts;
struct error;
struct hash_request;

/* Check that OPTS, of a manifest, match the hash parameters of REQUEST, if the
 * user chose any.  Returns 0, or -1 with the reason.
 */
int hash_params_check (const struct hash_request *request,
                       const struct blkhash_opts *opts, struct error *error);

#endif /* BLKSUM_HASH_PARAMS_H */
