/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compute the leaves of a group of blocks, in the calling thread.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "blkhash.h"
#include "common/util.h"
#include "construction/leaf-hash.h"
#include "digest/digest.h"
#include "lanes/lanes.h"

/* The state of a thread while it hashes.  Hashers are kept for reuse, so their
 * number is the maximum number of threads that hashed at the same time.
 */
struct hasher {
  struct hasher *next;
  struct digest_ctx *ctx;
};

struct hashers {
  const struct digest *digest;
  struct lanes *lanes;          /* NULL: blocks are hashed one by one */
  size_t block_size;            /* bytes */

  pthread_mutex_t lock;         /* protects the field below */
  struct hasher *idle;
};

static struct hasher *
new_hasher (const struct hashers *hashers)
{
  struct hasher *hasher = malloc (sizeof *hasher);

  if (!hasher)
    return NULL;
  hasher->ctx = digest_ctx_create (hashers->digest);
  if (!hasher->ctx) {
    free (hasher);
    return NULL;
  }
  return hasher;
}

static struct hasher *
borrow_hasher (struct hashers *hashers)
{
  {
    SCOPED_LOCK (&hashers->lock);
    struct hasher *hasher = hashers->idle;

    if (hasher) {
      hashers->idle = hasher->next;
      return hasher;
    }
  }
  return new_hasher (hashers);
}

static void
return_hasher (struct hashers *hashers, struct hasher *hasher)
{
  SCOPED_LOCK (&hashers->lock);

  hasher->next = hashers->idle;
  hashers->idle = hasher;
}

static int
hash_one (struct digest_ctx *ctx, const struct leaf_block *block)
{
  int err;

  err = digest_init (ctx);
  if (err == 0)
    err = digest_update (ctx, block->data, block->len);
  if (err == 0)
    err = digest_final (ctx, block->md);
  return err;
}

/* Hash COUNT full blocks. */
static int
hash_full (const struct hashers *hashers, struct digest_ctx *ctx,
           struct leaf_block *const *blocks, size_t count)
{
  const size_t len = hashers->block_size;
  const void *data[LEAF_GROUP];
  unsigned char *md[LEAF_GROUP];
  size_t i, n;
  int err = 0;

  for (i = 0; i < count; i++) {
    data[i] = blocks[i]->data;
    md[i] = blocks[i]->md;
  }
  for (i = 0; i < count && err == 0; i += n) {
    n = hashers->lanes ? lanes_hash (hashers->lanes, data + i, len, md + i,
                                     count - i) : 0;
    if (n == 0) {
      err = hash_one (ctx, blocks[i]);
      n = 1;
    }
  }
  if (hashers->lanes)
    lanes_add (hashers->lanes, count * len);
  return err;
}

/* Full blocks are hashed in lanes.  A short block, the last of an image, is
 * hashed alone.
 */
int
hashers_hash (struct hashers *hashers, struct leaf_block *const *blocks,
              size_t count)
{
  struct hasher *hasher = borrow_hasher (hashers);
  struct leaf_block *full[LEAF_GROUP];
  size_t i, n = 0;
  int err = 0;

  if (!hasher)
    return ENOMEM;
  for (i = 0; i < count && err == 0; i++) {
    if (blocks[i]->len == hashers->block_size)
      full[n++] = blocks[i];
    else
      err = hash_one (hasher->ctx, blocks[i]);
  }
  if (err == 0)
    err = hash_full (hashers, hasher->ctx, full, n);
  return_hasher (hashers, hasher);
  return err;
}

int
hashers_zeros (struct hashers *hashers, size_t len, unsigned char *md)
{
  static const unsigned char zeros[4096];
  struct hasher *hasher = borrow_hasher (hashers);
  int err;

  if (!hasher)
    return ENOMEM;
  err = digest_init (hasher->ctx);
  while (len > 0 && err == 0) {
    size_t n = len < sizeof zeros ? len : sizeof zeros;

    err = digest_update (hasher->ctx, zeros, n);
    len -= n;
  }
  if (err == 0)
    err = digest_final (hasher->ctx, md);
  return_hasher (hashers, hasher);
  return err;
}

size_t
hashers_full_group (const struct hashers *hashers)
{
  return hashers->lanes ? lanes_full_group (hashers->lanes) : 0;
}

static int
update_single (void *ctx, const void *data, size_t len)
{
  return digest_update (ctx, data, len);
}

/* If there is no memory for a hasher, the measurement remains due, and the next
 * call retries it.
 */
int
hashers_measure (struct hashers *hashers)
{
  struct hasher *hasher;
  int err = 0;

  if (!hashers->lanes || !lanes_measure_is_due (hashers->lanes))
    return 0;
  hasher = borrow_hasher (hashers);
  if (!hasher)
    return 0;
  if (digest_init (hasher->ctx) == 0) {
    struct single_hash single = {
      .update = update_single, .opaque = hasher->ctx
    };

    err = lanes_measure (hashers->lanes, &single);
  }
  return_hasher (hashers, hasher);
  return err;
}

/* If a kernel fails its self-test, no hashers are created; lanes.c explains why
 * the kernel is not just skipped.
 */
static int
create_lanes (struct hashers *hashers)
{
  if (!digest_is_replaceable (hashers->digest))
    return 0;
  hashers->lanes = lanes_create (digest_name (hashers->digest));
  if (!hashers->lanes)
    return errno == ENOTSUP ? 0 : errno;
  return 0;
}

struct hashers *
hashers_create (const struct digest *digest, uint32_t block_size)
{
  struct hashers *hashers = calloc (1, sizeof *hashers);
  int err;

  if (!hashers)
    return NULL;
  hashers->digest = digest;
  hashers->block_size = block_size;
  pthread_mutex_init (&hashers->lock, NULL);
  err = create_lanes (hashers);
  if (err) {
    hashers_free (hashers);
    errno = err;
    return NULL;
  }
  return hashers;
}

void
hashers_free (struct hashers *hashers)
{
  struct hasher *hasher;

  if (!hashers)
    return;
  while ((hasher = hashers->idle)) {
    hashers->idle = hasher->next;
    digest_ctx_free (hasher->ctx);
    free (hasher);
  }
  lanes_free (hashers->lanes);
  pthread_mutex_destroy (&hashers->lock);
  free (hashers);
}
