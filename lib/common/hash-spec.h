/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How a sum is made, read from text: "sha256/64k/s64", which sum-line.c writes
 * behind "blk-", and shorter forms of it, which users write.
 */

#ifndef BLKHASH_HASH_SPEC_H
#define BLKHASH_HASH_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blkhash_opts;

struct hash_spec {
  char digest[48];
  uint32_t block_size;          /* 0: it does not say */
  unsigned streams;             /* 0: flat, unless it is linear */
  bool linear;
};

/* Read DIGEST, DIGEST/SIZE, DIGEST/SIZE/sN or DIGEST/SIZE/linear.  A name of a
 * digest that has a slash in it, as OpenSSL's SHA2-512/256, is that digest.
 * 0, or EINVAL if TEXT has another form; whether there is such a digest says
 * hash_spec_opts.
 */
int hash_spec_parse (const char *text, struct hash_spec *spec);

/* Was the construction chosen?  "sha256/64k" is flat, "sha256" says nothing. */
static inline bool
hash_spec_is_complete (const struct hash_spec *spec)
{
  return spec->block_size != 0;
}

/* The options of the library for KIND.  What it does not say is as in
 * DEFAULTS, and so are the threads.  The caller frees them.  NULL with errno
 * EINVAL: there is no such digest; EDOM: no such block size; ENOTSUP: no such
 * construction here; ENOMEM.
 */
struct blkhash_opts *hash_spec_opts (const struct hash_spec *spec,
                                     const struct blkhash_opts *defaults);

#endif /* BLKHASH_HASH_SPEC_H */
