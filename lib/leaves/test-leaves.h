/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For unit tests of the leaf table: random images, and their leaves and sums,
 * which OpenSSL computes, without any code of libblkhash.
 */

#ifndef BLKHASH_TEST_LEAVES_H
#define BLKHASH_TEST_LEAVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "blkhash.h"

#define BLOCK 64                /* bytes */
#define MAX_BLOCKS 300
#define MAX_STREAMS 8
#define LEAF 32                 /* bytes of a leaf, for sha256 */

static unsigned image_seed = 1;

static inline unsigned
image_random (unsigned below)
{
  return rand_r (&image_seed) % below;
}

/* Fill the image with runs of blocks that are zero, full of data, or mostly
 * zero with a few bytes of data.
 */
static inline void
image_fill (unsigned char *image, size_t size)
{
  size_t i;
  int kind = 0;

  for (i = 0; i < size; i++) {
    if (i % BLOCK == 0 && image_random (3) == 0)
      kind = image_random (3);
    image[i] = kind == 0 || (kind == 1 && image_random (BLOCK) > 0)
      ? 0 : image_random (256);
  }
}

/* The length of the block that begins at AT. */
static inline size_t
image_block (size_t size, size_t at)
{
  return size - at < BLOCK ? size - at : BLOCK;
}

static inline bool
image_is_zero (const unsigned char *image, size_t len)
{
  size_t i;

  for (i = 0; i < len; i++)
    if (image[i])
      return false;
  return true;
}

static inline void
image_leaf (const unsigned char *block, size_t len, unsigned char *leaf)
{
  if (EVP_Digest (block, len, leaf, NULL, EVP_sha256 (), NULL) != 1)
    abort ();
}

/* STREAMS is 0 for the flat construction. */
static inline void
image_sum (const unsigned char *image, size_t size, unsigned streams,
           unsigned char *md)
{
  static unsigned char chain[MAX_STREAMS][MAX_BLOCKS * LEAF + 8];
  size_t used[MAX_STREAMS] = { 0 }, at;
  unsigned char mds[MAX_STREAMS * LEAF];
  unsigned i, chains = streams ? streams : 1;

  for (at = 0, i = 0; at < size; at += BLOCK, i = (i + 1) % chains) {
    image_leaf (image + at, image_block (size, at), chain[i] + used[i]);
    used[i] += LEAF;
  }
  if (streams == 0)
    for (i = 0; i < 8; i++)
      chain[0][used[0]++] = (uint64_t) size >> (8 * i);
  for (i = 0; i < chains; i++)
    image_leaf (chain[i], used[i], streams ? mds + i * LEAF : md);
  if (streams)
    image_leaf (mds, chains * LEAF, md);
}

static inline struct blkhash_leaves *
image_table (uint64_t size, unsigned streams, unsigned flags)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash_leaves *l;

  blkhash_opts_set_block_size (opts, BLOCK);
  blkhash_opts_set_streams (opts, streams);
  l = blkhash_leaves_new (opts, size, flags);
  blkhash_opts_free (opts);
  if (!l)
    abort ();
  return l;
}

/* Give a range as data, or, if ZEROS is set and the range is zero, as zeros. */
static inline int
image_give (struct blkhash_leaves *l, const unsigned char *image,
            size_t offset, size_t len, bool zeros)
{
  return zeros && image_is_zero (image + offset, len)
    ? blkhash_leaves_zero (l, len, offset)
    : blkhash_leaves_data (l, image + offset, len, offset);
}

struct range {
  size_t offset, len;
};

static inline void
range_swap (struct range *a, struct range *b)
{
  struct range c = *a;

  *a = *b;
  *b = c;
}

/* Cut SIZE bytes into ranges of random lengths of up to 40 blocks, and often
 * shuffle them.  Returns the number of ranges, which can be as large as SIZE.
 */
static inline unsigned
image_ranges (struct range *ranges, size_t size)
{
  unsigned count = 0, i;
  size_t at, len;

  for (at = 0; at < size; at += len) {
    len = 1 + image_random (image_random (2) ? BLOCK : 40 * BLOCK);
    if (image_random (2))
      len = (len + BLOCK - 1) / BLOCK * BLOCK;
    if (len > size - at)
      len = size - at;
    ranges[count++] = (struct range) { at, len };
  }
  if (image_random (3) > 0)
    for (i = count; i > 1; i--)
      range_swap (&ranges[i - 1], &ranges[image_random (i)]);
  return count;
}

#endif /* BLKHASH_TEST_LEAVES_H */
