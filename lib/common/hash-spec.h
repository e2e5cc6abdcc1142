/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A hash spec: the digest, block size and construction of a hash, as text.
 * "sha256/64k/s64" is the form that blkhash_opts_get_tag prints after "blk-";
 * users can write shorter forms.
 */

#ifndef BLKHASH_HASH_SPEC_H
#define BLKHASH_HASH_SPEC_H

#include <stdbool.h>
#include <stdint.h>

struct blkhash_opts;

struct hash_spec {
  char digest[48];
  uint32_t block_size;          /* 0: not specified */
  unsigned streams;             /* 0: linear or flat */
  bool linear;
};

/* Parse DIGEST, DIGEST/SIZE, DIGEST/SIZE/sN or DIGEST/SIZE/linear, in any case.
 * If all of TEXT is the name of a digest, such as OpenSSL's SHA2-512/256, it is
 * not split.  Returns 0, or EINVAL if TEXT has another form.  hash_spec_opts
 * checks that the digest exists.
 */
int hash_spec_parse (const char *text, struct hash_spec *spec);

/* The same for a text of a user, which can be a tag: "blk-" may precede it. */
int hash_spec_parse_user (const char *text, struct hash_spec *spec);

/* Are the block size and the construction specified, and not only the digest?
 * "sha256/64k" specifies both: the construction is flat.
 */
static inline bool
hash_spec_is_complete (const struct hash_spec *spec)
{
  return spec->block_size != 0;
}

/* Create the library's options for SPEC.  Parameters that SPEC does not
 * specify, and the threads and queue depth, are copied from DEFAULTS.  The
 * caller frees the result.  Returns NULL with errno: EINVAL if there is no such
 * digest, EDOM if the block size is not allowed, ENOTSUP if the number of
 * streams is not allowed; ENOMEM.
 */
struct blkhash_opts *hash_spec_opts (const struct hash_spec *spec,
                                     const struct blkhash_opts *defaults);

#endif /* BLKHASH_HASH_SPEC_H */
