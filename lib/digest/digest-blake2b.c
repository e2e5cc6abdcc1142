/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blake2b-256: BLAKE2b with a digest of 32 bytes, from libb2.
 */

#include <config.h>

#include <errno.h>

#include <blake2.h>

#include "digest/digest-family.h"

#define SIZE 32

static int
blake2b_256_init (const struct digest *digest, void *state)
{
  (void) digest;
  return blake2b_init (state, SIZE) == 0 ? 0 : EIO;
}

static int
blake2b_256_update (void *state, const void *buf, size_t len)
{
  return blake2b_update (state, buf, len) == 0 ? 0 : EIO;
}

static int
blake2b_256_final (const struct digest *digest, void *state,
                   unsigned char *md)
{
  (void) digest;
  return blake2b_final (state, md, SIZE) == 0 ? 0 : EIO;
}

static const struct digest_ops ops = {
  .state_size = sizeof (blake2b_state),
  .init = blake2b_256_init,
  .update = blake2b_256_update,
  .final = blake2b_256_final,
};

static const struct digest blake2b_256 = {
  .ops = &ops, .name = "blake2b-256", .size = SIZE, .replaceable = true
};

const struct digest_family digest_blake2b = {
  .digests = &blake2b_256, .count = 1
};
