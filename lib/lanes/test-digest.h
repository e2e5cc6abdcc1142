/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The digest of a message by its library, for the unit tests of our kernels.
 */

#ifndef BLKHASH_TEST_DIGEST_H
#define BLKHASH_TEST_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "digest/digest.h"
#include "lanes/lane-kernel.h"

/* False if it fails, or is not as long as HASH says. */
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
