/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * null: an empty digest of any message, to measure the overhead without
 * hashing.  Its length is 0, as in other programs that support the digest null.
 */

#include <config.h>

#include <errno.h>
#include <strings.h>

#include "digest/digest-family.h"

#define NAME "null"

static int
null_init (const struct digest *digest, void *state)
{
  (void) digest;
  (void) state;
  return 0;
}

static int
null_update (void *state, const void *buf, size_t len)
{
  (void) state;
  (void) buf;
  (void) len;
  return 0;
}

static int
null_final (const struct digest *digest, void *state, unsigned char *md)
{
  (void) digest;
  (void) state;
  (void) md;
  return 0;
}

static const struct digest_ops ops = {
  .state_size = 1,
  .init = null_init,
  .update = null_update,
  .final = null_final,
};

static int
find (const char *name, struct digest *digest)
{
  if (strcasecmp (name, NAME) != 0)
    return EINVAL;
  *digest = (struct digest) { .ops = &ops, .name = NAME };
  return 0;
}

static void
list (void (*yield) (const char *name, void *opaque), void *opaque)
{
  yield (NAME, opaque);
}

const struct digest_family digest_null = {
  .find = find, .list = list
};
