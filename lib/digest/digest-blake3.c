/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The digest blake3, from libblake3, which selects SIMD code for the CPU.
 */

#include <config.h>

#include <blake3.h>

#include "digest/digest-family.h"

static int
blake3_init (const struct digest *digest, void *state)
{
  (void) digest;
  blake3_hasher_init (state);
  return 0;
}

static int
blake3_update (void *state, const void *buf, size_t len)
{
  blake3_hasher_update (state, buf, len);
  return 0;
}

static int
blake3_final (const struct digest *digest, void *state, unsigned char *md)
{
  blake3_hasher_finalize (state, md, digest->size);
  return 0;
}

static const struct digest_ops ops = {
  .state_size = sizeof (blake3_hasher),
  .init = blake3_init,
  .update = blake3_update,
  .final = blake3_final,
};

static const struct digest blake3 = {
  .ops = &ops, .name = "blake3", .size = BLAKE3_OUT_LEN
};

const struct digest_family digest_blake3 = {
  .digests = &blake3, .count = 1
};
