/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "digest/digest-family.h"
#include "digest/digest.h"

/* ---- The digest null ----
 *
 * It is an empty digest of any message, to measure the overhead without
 * hashing.  Its length is 0, as in other programs that support the digest null.
 */

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

static const struct digest_ops null_ops = {
  .state_size = 1,
  .init = null_init,
  .update = null_update,
  .final = null_final,
};

static const struct digest null_digest = { .ops = &null_ops, .name = "null" };

static const struct digest_family digest_null = {
  .digests = &null_digest, .count = 1
};

/* ---- Find a digest ---- */

/* In search order.  OpenSSL is last, so that a digest that a later version of
 * OpenSSL adds cannot replace one of another family with the same name.
 */
static const struct digest_family *const families[] = {
  &digest_null,
#ifdef HAVE_LIBB2
  &digest_blake2b,
#endif
#ifdef HAVE_LIBBLAKE3
  &digest_blake3,
#endif
#ifdef HAVE_LIBXXHASH
  &digest_xxhash,
#endif
  &digest_openssl,
};

#define NR_FAMILIES (sizeof families / sizeof families[0])

static int
find_in (const struct digest_family *family, const char *name,
         struct digest *digest)
{
  size_t i;

  if (family->find)
    return family->find (name, digest);
  for (i = 0; i < family->count; i++)
    if (strcasecmp (name, family->digests[i].name) == 0) {
      *digest = family->digests[i];
      return 0;
    }
  return EINVAL;
}

struct digest *
digest_create (const char *name)
{
  struct digest *digest = calloc (1, sizeof *digest);
  size_t i;
  int err = EINVAL;

  if (!digest)
    return NULL;
  for (i = 0; i < NR_FAMILIES && err == EINVAL; i++)
    err = find_in (families[i], name, digest);
  if (err) {
    free (digest);
    errno = err;
    return NULL;
  }
  return digest;
}

void
digest_free (struct digest *digest)
{
  if (!digest)
    return;
  if (digest->ops->release)
    digest->ops->release (digest);
  free (digest);
}

const char *
digest_name (const struct digest *digest)
{
  return digest->name;
}

size_t
digest_size (const struct digest *digest)
{
  return digest->size;
}

bool
digest_is_replaceable (const struct digest *digest)
{
  return digest->replaceable;
}

bool
digest_is_cryptographic (const struct digest *digest)
{
  return digest->size > 0 && !digest->accidents_only;
}

/* ---- List the digests ---- */

struct name_list {
  const char **names;
  size_t room, count;
};

/* Insert NAME in sorted order, unless the list has it: OpenSSL yields a name
 * twice if two of its providers have the digest.
 */
static void
add_name (const char *name, void *opaque)
{
  struct name_list *list = opaque;
  size_t i = list->count;

  while (i > 0 && strcmp (list->names[i - 1], name) >= 0)
    i--;
  if (i < list->count && strcmp (list->names[i], name) == 0)
    return;
  if (list->count == list->room) {
    size_t room = 2 * list->room + 32;
    const char **bigger = realloc (list->names, room * sizeof *bigger);

    if (!bigger)
      return;
    list->names = bigger;
    list->room = room;
  }
  memmove (&list->names[i + 1], &list->names[i],
           (list->count - i) * sizeof *list->names);
  list->names[i] = name;
  list->count++;
}

size_t
digest_list (const char **names, size_t count)
{
  struct name_list list = { 0 };
  size_t i, j, usable = 0;

  for (i = 0; i < NR_FAMILIES; i++) {
    if (families[i]->list)
      families[i]->list (add_name, &list);
    for (j = 0; j < families[i]->count; j++)
      add_name (families[i]->digests[j].name, &list);
  }
  /* OpenSSL can list digests that its configuration does not allow. */
  for (i = 0; i < list.count; i++) {
    struct digest *digest = digest_create (list.names[i]);

    if (digest)
      list.names[usable++] = list.names[i];
    digest_free (digest);
  }
  list.count = usable;
  for (i = 0; i < count && i < list.count; i++)
    names[i] = list.names[i];
  free (list.names);
  return list.count;
}

/* ---- Hash a message ---- */

#define STATE_ALIGN 64          /* bytes */

struct digest_ctx {
  const struct digest *digest;
  void *state;
};

struct digest_ctx *
digest_ctx_create (const struct digest *digest)
{
  struct digest_ctx *ctx = calloc (1, sizeof *ctx);
  int err;

  if (!ctx)
    return NULL;
  ctx->digest = digest;
  err = posix_memalign (&ctx->state, STATE_ALIGN, digest->ops->state_size);
  if (err == 0 && digest->ops->setup) {
    err = digest->ops->setup (digest, ctx->state);
    if (err)
      free (ctx->state);
  }
  if (err) {
    free (ctx);
    errno = err;
    return NULL;
  }
  return ctx;
}

void
digest_ctx_free (struct digest_ctx *ctx)
{
  if (!ctx)
    return;
  if (ctx->digest->ops->teardown)
    ctx->digest->ops->teardown (ctx->state);
  free (ctx->state);
  free (ctx);
}

int
digest_init (struct digest_ctx *ctx)
{
  return ctx->digest->ops->init (ctx->digest, ctx->state);
}

int
digest_update (struct digest_ctx *ctx, const void *buf, size_t len)
{
  return ctx->digest->ops->update (ctx->state, buf, len);
}

int
digest_final (struct digest_ctx *ctx, unsigned char *md)
{
  return ctx->digest->ops->final (ctx->digest, ctx->state, md);
}
