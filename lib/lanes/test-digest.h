/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The digest of a message, computed by OpenSSL or libb2, for the unit tests of
 * our own SIMD (multi-buffer) implementations, called kernels.
 */

#ifndef BLKHASH_TEST_DIGEST_H
#define BLKHASH_TEST_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "digest/digest.h"
#include "lanes/lane-kernel.h"

/* Returns false if the library fails, or its digest does not have the length
 * that HASH requires.
 */
static inline bool
test_digest (const struct lane_hash *hash, const void *data, size_t len,
             unsigned char *md)
{
  struct digest *digest = digest_create (hash->name);
  struct digest_ctx *ctx = digest ? digest_ctx_create (digest) : NULL;
  bool good = ctx && digest_size (digest) == hash->md &&
    digest_init (ctx) == 0 && digest_update (ctx, data, len) == 0 &&
    digest_final (ctx, md) == 0;

  digest_ctx_free (ctx);
  digest_free (digest);
  return good;
}

#endif /* BLKHASH_TEST_DIGEST_H */
