/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Internals of the library as a hasher: leaf.c, and digest.c for one message.
 * They are linked statically, because the public API does not expose how many
 * blocks are hashed at once.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"
#include "digest/digest.h"
#include "construction/leaf.h"

#include "args.h"
#include "hasher.h"

#define MAX_BATCH 4096

struct leaf_hasher {
  struct hasher hasher;
  struct digest *digest;
  struct leaf_engine *engine;
  unsigned char md[MAX_BATCH][BLKHASH_MAX_MD_SIZE];
  struct leaf_block blocks[MAX_BATCH];
};

struct message_hasher {
  struct hasher hasher;
  struct digest *digest;
  struct digest_ctx *ctx;
};

static void *
allocate (size_t size)
{
  void *p = malloc (size);

  if (!p)
    check (errno, "malloc");
  return p;
}

static struct digest *
find_digest (const char *name)
{
  struct digest *digest = digest_create (name);

  if (!digest)
    check (errno, name);
  return digest;
}

static void
run_leaves (struct hasher *hasher,
            const unsigned char *data, size_t size, size_t count)
{
  struct leaf_hasher *h = (struct leaf_hasher *) hasher;
  size_t i;

  for (i = 0; i < count; i++) {
    h->blocks[i].data = data + i * size;
    h->blocks[i].len = size;
    h->blocks[i].md = h->md[i];
  }
  check (leaf_batch (h->engine, h->blocks, count), "leaf_batch");
}

static size_t
leaf_checksum (struct hasher *hasher, unsigned char *md)
{
  struct leaf_hasher *h = (struct leaf_hasher *) hasher;

  memcpy (md, h->md[0], digest_size (h->digest));
  return digest_size (h->digest);
}

static void
free_leaves (struct hasher *hasher)
{
  struct leaf_hasher *h = (struct leaf_hasher *) hasher;

  leaf_engine_free (h->engine);
  digest_free (h->digest);
  free (h);
}

struct hasher *
leaf_hasher (const char *digest, size_t block_size)
{
  struct leaf_hasher *h = allocate (sizeof *h);

  h->hasher = (struct hasher) { run_leaves, leaf_checksum, free_leaves };
  h->digest = find_digest (digest);
  h->engine = leaf_engine_create (h->digest, block_size);
  if (!h->engine)
    check (errno, "leaf_engine_create");
  return &h->hasher;
}

static void
run_message (struct hasher *hasher,
             const unsigned char *data, size_t size, size_t count)
{
  struct message_hasher *h = (struct message_hasher *) hasher;
  size_t i;

  for (i = 0; i < count; i++)
    check (digest_update (h->ctx, data + i * size, size), "digest_update");
}

static size_t
message_checksum (struct hasher *hasher, unsigned char *md)
{
  struct message_hasher *h = (struct message_hasher *) hasher;

  check (digest_final (h->ctx, md), "digest_final");
  check (digest_init (h->ctx), "digest_init");
  return digest_size (h->digest);
}

static void
free_message (struct hasher *hasher)
{
  struct message_hasher *h = (struct message_hasher *) hasher;

  digest_ctx_free (h->ctx);
  digest_free (h->digest);
  free (h);
}

struct hasher *
message_hasher (const char *digest)
{
  struct message_hasher *h = allocate (sizeof *h);

  h->hasher = (struct hasher) { run_message, message_checksum, free_message };
  h->digest = find_digest (digest);
  h->ctx = digest_ctx_create (h->digest);
  if (!h->ctx)
    check (errno, "digest_ctx_create");
  check (digest_init (h->ctx), "digest_init");
  return &h->hasher;
}
