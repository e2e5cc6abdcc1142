/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A batch of blocks in, their leaves out.
 *
 * A thread borrows a digest context for each batch from a list that grows to
 * the number of threads that were ever here at once.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "blkhash.h"
#include "cleanup.h"
#include "digest.h"
#include "leaf.h"
#include "zero.h"

struct hasher {
  struct hasher *next;
  struct digest_ctx *ctx;
};

struct leaf_engine {
  const struct digest *digest;
  unsigned char zero_md[BLKHASH_MAX_MD_SIZE];

  pthread_mutex_t lock;         /* protects idle */
  struct hasher *idle;
};

static struct hasher *
borrow_hasher (struct leaf_engine *engine)
{
  struct hasher *hasher;

  {
    SCOPED_LOCK (&engine->lock);

    hasher = engine->idle;
    if (hasher) {
      engine->idle = hasher->next;
      return hasher;
    }
  }

  hasher = malloc (sizeof *hasher);
  if (!hasher)
    return NULL;
  hasher->ctx = digest_ctx_create (engine->digest);
  if (!hasher->ctx) {
    free (hasher);
    return NULL;
  }
  return hasher;
}

static void
return_hasher (struct leaf_engine *engine, struct hasher *hasher)
{
  SCOPED_LOCK (&engine->lock);

  hasher->next = engine->idle;
  engine->idle = hasher;
}

static int
hash_one (struct digest_ctx *ctx, const void *data, size_t len,
          unsigned char *md)
{
  int err;

  err = digest_init (ctx);
  if (err == 0)
    err = digest_update (ctx, data, len);
  if (err == 0)
    err = digest_final (ctx, md);
  return err;
}

int
leaf_batch (struct leaf_engine *engine,
            struct leaf_block *blocks, size_t count)
{
  struct hasher *hasher = borrow_hasher (engine);
  size_t i;
  int err = 0;

  if (!hasher)
    return ENOMEM;
  for (i = 0; i < count && err == 0; i++) {
    blocks[i].zero = is_zero (blocks[i].data, blocks[i].len);
    if (!blocks[i].zero)
      err = hash_one (hasher->ctx, blocks[i].data, blocks[i].len,
                      blocks[i].md);
  }
  return_hasher (engine, hasher);
  return err;
}

const unsigned char *
leaf_zero (const struct leaf_engine *engine)
{
  return engine->zero_md;
}

int
leaf_zeros (struct leaf_engine *engine, size_t len, unsigned char *md)
{
  static const unsigned char zeros[4096];
  struct hasher *hasher = borrow_hasher (engine);
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
  return_hasher (engine, hasher);
  return err;
}

struct leaf_engine *
leaf_engine_create (const struct digest *digest, uint32_t block_size)
{
  struct leaf_engine *engine = calloc (1, sizeof *engine);
  int err;

  if (!engine)
    return NULL;
  engine->digest = digest;
  pthread_mutex_init (&engine->lock, NULL);

  err = leaf_zeros (engine, block_size, engine->zero_md);
  if (err) {
    leaf_engine_free (engine);
    errno = err;
    return NULL;
  }
  return engine;
}

void
leaf_engine_free (struct leaf_engine *engine)
{
  struct hasher *hasher;

  if (!engine)
    return;
  while ((hasher = engine->idle)) {
    engine->idle = hasher->next;
    digest_ctx_free (hasher->ctx);
    free (hasher);
  }
  pthread_mutex_destroy (&engine->lock);
  free (engine);
}
