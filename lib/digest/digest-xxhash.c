/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * xxh3-128 and xxh64, from libxxhash.  They detect only accidental corruption,
 * because collisions are easy to construct.
 *
 * Digests are in the canonical, big-endian form of xxhsum.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include <xxhash.h>

#include "digest/digest-family.h"

/* The states are created by the library: their size is not part of its ABI. */

static int
xxh3_128_setup (const struct digest *digest, void *state)
{
  (void) digest;
  *(XXH3_state_t **) state = XXH3_createState ();
  return *(XXH3_state_t **) state ? 0 : ENOMEM;
}

static void
xxh3_128_teardown (void *state)
{
  XXH3_freeState (*(XXH3_state_t **) state);
}

static int
xxh3_128_init (const struct digest *digest, void *state)
{
  (void) digest;
  return XXH3_128bits_reset (*(XXH3_state_t **) state) == XXH_OK ? 0 : EIO;
}

static int
xxh3_128_update (void *state, const void *buf, size_t len)
{
  if (len == 0)
    return 0;
  return XXH3_128bits_update (*(XXH3_state_t **) state, buf, len) == XXH_OK
    ? 0 : EIO;
}

static int
xxh3_128_final (const struct digest *digest, void *state, unsigned char *md)
{
  XXH128_canonical_t canonical;

  XXH128_canonicalFromHash (&canonical,
                            XXH3_128bits_digest (*(XXH3_state_t **) state));
  memcpy (md, &canonical, digest->size);
  return 0;
}

static const struct digest_ops xxh3_128_ops = {
  .state_size = sizeof (XXH3_state_t *),
  .setup = xxh3_128_setup,
  .teardown = xxh3_128_teardown,
  .init = xxh3_128_init,
  .update = xxh3_128_update,
  .final = xxh3_128_final,
};

static int
xxh64_setup (const struct digest *digest, void *state)
{
  (void) digest;
  *(XXH64_state_t **) state = XXH64_createState ();
  return *(XXH64_state_t **) state ? 0 : ENOMEM;
}

static void
xxh64_teardown (void *state)
{
  XXH64_freeState (*(XXH64_state_t **) state);
}

static int
xxh64_init (const struct digest *digest, void *state)
{
  (void) digest;
  return XXH64_reset (*(XXH64_state_t **) state, 0) == XXH_OK ? 0 : EIO;
}

static int
xxh64_update (void *state, const void *buf, size_t len)
{
  if (len == 0)
    return 0;
  return XXH64_update (*(XXH64_state_t **) state, buf, len) == XXH_OK
    ? 0 : EIO;
}

static int
xxh64_final (const struct digest *digest, void *state, unsigned char *md)
{
  XXH64_canonical_t canonical;

  XXH64_canonicalFromHash (&canonical,
                           XXH64_digest (*(XXH64_state_t **) state));
  memcpy (md, &canonical, digest->size);
  return 0;
}

static const struct digest_ops xxh64_ops = {
  .state_size = sizeof (XXH64_state_t *),
  .setup = xxh64_setup,
  .teardown = xxh64_teardown,
  .init = xxh64_init,
  .update = xxh64_update,
  .final = xxh64_final,
};

static const struct digest digests[] = {
  { .ops = &xxh3_128_ops, .name = "xxh3-128",
    .size = sizeof (XXH128_canonical_t), .accidents_only = true },
  { .ops = &xxh64_ops, .name = "xxh64", .size = sizeof (XXH64_canonical_t),
    .accidents_only = true },
};

const struct digest_family digest_xxhash = {
  .digests = digests, .count = sizeof digests / sizeof digests[0]
};
