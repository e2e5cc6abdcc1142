/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A chain is a digest that is computed over a sequence of leaves.  Flat is one
 * chain over all leaves and the size; linear is flat without the size.  With S
 * streams there are S chains, leaf i belongs to chain i mod S, and the result
 * is the digest of the digests of the chains, without the size.
 *
 * If an image is mostly empty, most of the time is spent on runs of zero
 * blocks.  Their leaves are appended from a buffer that repeats the leaf of a
 * zero block, so that each call of the digest hashes many bytes.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"
#include "common/util.h"
#include "construction/opts.h"
#include "construction/outer.h"
#include "digest/digest.h"

#define ZERO_LEAVES 512         /* leaves in zero_page */

struct outer {
  const struct digest *digest;
  size_t leaf_size;             /* bytes */
  struct construction construction;
  unsigned chains;              /* 1, or the number of streams */
  unsigned next;                /* index of the chain of the next leaf */
  unsigned char *zero_page;
  struct digest_ctx *chain[];
};

static int
start_chains (struct outer *outer)
{
  unsigned i;

  for (i = 0; i < outer->chains; i++) {
    int err;

    outer->chain[i] = digest_ctx_create (outer->digest);
    if (!outer->chain[i])
      return ENOMEM;
    err = digest_init (outer->chain[i]);
    if (err)
      return err;
  }
  return 0;
}

void
outer_free (struct outer *outer)
{
  unsigned i;

  if (!outer)
    return;
  for (i = 0; i < outer->chains; i++)
    digest_ctx_free (outer->chain[i]);
  free (outer->zero_page);
  free (outer);
}

struct outer *
outer_create (const struct digest *digest,
              const struct construction *construction,
              const unsigned char *zero_leaf)
{
  unsigned chains = construction->streams ? construction->streams : 1;
  struct outer *outer;
  size_t i;
  int err = ENOMEM;

  outer = calloc (1, sizeof *outer + chains * sizeof outer->chain[0]);
  if (!outer)
    return NULL;
  outer->digest = digest;
  outer->leaf_size = digest_size (digest);
  outer->construction = *construction;
  outer->chains = chains;

  /* + 1: a leaf can have size 0, and malloc (0) may return NULL. */
  outer->zero_page = malloc (ZERO_LEAVES * outer->leaf_size + 1);
  if (!outer->zero_page)
    goto fail;
  for (i = 0; i < ZERO_LEAVES; i++)
    memcpy (outer->zero_page + i * outer->leaf_size, zero_leaf,
            outer->leaf_size);

  err = start_chains (outer);
  if (err)
    goto fail;
  return outer;

 fail:
  outer_free (outer);
  errno = err;
  return NULL;
}

int
outer_leaves (struct outer *outer, const unsigned char *leaves, size_t count)
{
  size_t i;
  int err = 0;

  if (outer->chains == 1)
    return digest_update (outer->chain[0], leaves,
                          count * outer->leaf_size);
  for (i = 0; i < count && err == 0; i++) {
    err = digest_update (outer->chain[outer->next],
                         leaves + i * outer->leaf_size, outer->leaf_size);
    outer->next = (outer->next + 1) % outer->chains;
  }
  return err;
}

static int
chain_zeros (struct outer *outer, unsigned chain, uint64_t count)
{
  int err = 0;

  if (outer->leaf_size == 0)    /* the digest null */
    return 0;
  while (count > 0 && err == 0) {
    size_t n = MIN (count, ZERO_LEAVES);

    err = digest_update (outer->chain[chain], outer->zero_page,
                         n * outer->leaf_size);
    count -= n;
  }
  return err;
}

int
outer_zeros (struct outer *outer, uint64_t count)
{
  uint64_t each = count / outer->chains;
  unsigned rest = count % outer->chains;
  unsigned i;
  int err = 0;

  /* From the chain of the next leaf on, the first REST chains get one leaf more
   * than the others.
   */
  for (i = 0; i < outer->chains && err == 0; i++)
    err = chain_zeros (outer, (outer->next + i) % outer->chains,
                       each + (i < rest));
  outer->next = (outer->next + rest) % outer->chains;
  return err;
}

static int
final_flat (struct outer *outer, uint64_t size, unsigned char *md)
{
  unsigned char le64[8];
  unsigned i;
  int err;

  for (i = 0; i < sizeof le64; i++)
    le64[i] = size >> (8 * i);
  err = digest_update (outer->chain[0], le64, sizeof le64);
  return err ? err : digest_final (outer->chain[0], md);
}

static int
final_streams (struct outer *outer, unsigned char *md)
{
  struct digest_ctx *root = digest_ctx_create (outer->digest);
  unsigned char chain_md[BLKHASH_MAX_MD_SIZE];
  unsigned i;
  int err;

  if (!root)
    return ENOMEM;
  err = digest_init (root);
  for (i = 0; i < outer->chains && err == 0; i++) {
    err = digest_final (outer->chain[i], chain_md);
    if (err == 0)
      err = digest_update (root, chain_md, outer->leaf_size);
  }
  if (err == 0)
    err = digest_final (root, md);
  digest_ctx_free (root);
  return err;
}

int
outer_final (struct outer *outer, uint64_t size, unsigned char *md)
{
  if (outer->construction.streams)
    return final_streams (outer, md);
  if (outer->construction.linear)
    return digest_final (outer->chain[0], md);
  return final_flat (outer, size, md);
}
