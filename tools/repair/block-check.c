/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "blkhash.h"

#include "repair/block-check.h"

struct check {
  const struct block_expected *expected;
  bool good;
};

static int
check_data (void *opaque, uint64_t index, size_t count,
            const unsigned char *leaves, size_t leaf_size)
{
  struct check *check = opaque;

  (void) index; (void) count;
  check->good = !check->expected->zero &&
    memcmp (leaves, check->expected->leaf, leaf_size) == 0;
  return 0;
}

static int
check_zeros (void *opaque, uint64_t index, uint64_t count)
{
  struct check *check = opaque;

  (void) index; (void) count;
  check->good = check->expected->zero;
  return 0;
}

int
block_check (const struct blkhash_opts *opts, const void *buf, size_t len,
             const struct block_expected *expected, bool *good)
{
  struct check check = { .expected = expected };
  const struct blkhash_leaf_sink sink = {
    .data = check_data, .zero = check_zeros, .opaque = &check
  };
  struct blkhash_leaves *leaves =
    blkhash_leaves_new (opts, len,
                        BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM);
  int err;

  if (!leaves)
    return errno;
  err = blkhash_leaves_set_sink (leaves, &sink);
  if (err == 0)
    err = blkhash_leaves_data (leaves, buf, len, 0);
  if (err == 0)
    err = blkhash_leaves_fold (leaves, NULL, NULL);
  blkhash_leaves_free (leaves);
  *good = err == 0 && check.good;
  return err;
}
