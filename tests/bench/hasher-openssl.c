/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * OpenSSL as a hasher, for comparison: one block after the other, with the
 * least overhead of OpenSSL, by a digest that was fetched before and a context
 * that is reused.
 */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>

#include <openssl/evp.h>

#include "args.h"
#include "hasher.h"

struct openssl_hasher {
  struct hasher hasher;
  EVP_MD *md;
  EVP_MD_CTX *ctx;
};

static void
ok (int success)
{
  if (!success)
    die (1, "OpenSSL failed");
}

static void
start (struct openssl_hasher *h)
{
  ok (EVP_DigestInit_ex2 (h->ctx, h->md, NULL));
}

/* In newer OpenSSL SHAKE has no default length. */
static void
finish (struct openssl_hasher *h)
{
  unsigned char digest[EVP_MAX_MD_SIZE];

  if (EVP_MD_get_flags (h->md) & EVP_MD_FLAG_XOF)
    ok (EVP_DigestFinalXOF (h->ctx, digest, 32));
  else
    ok (EVP_DigestFinal_ex (h->ctx, digest, NULL));
}

static void
run_blocks (struct hasher *hasher,
            const unsigned char *data, size_t size, size_t count)
{
  struct openssl_hasher *h = (struct openssl_hasher *) hasher;
  size_t i;

  for (i = 0; i < count; i++) {
    start (h);
    ok (EVP_DigestUpdate (h->ctx, data + i * size, size));
    finish (h);
  }
}

static void
run_message (struct hasher *hasher,
             const unsigned char *data, size_t size, size_t count)
{
  struct openssl_hasher *h = (struct openssl_hasher *) hasher;
  size_t i;

  for (i = 0; i < count; i++)
    ok (EVP_DigestUpdate (h->ctx, data + i * size, size));
}

static void
free_openssl (struct hasher *hasher)
{
  struct openssl_hasher *h = (struct openssl_hasher *) hasher;

  EVP_MD_CTX_free (h->ctx);
  EVP_MD_free (h->md);
  free (h);
}

static struct openssl_hasher *
new_hasher (const char *digest)
{
  struct openssl_hasher *h;
  EVP_MD *md = NULL;

  /* OpenSSL's NULL is another digest than our null. */
  if (strcasecmp (digest, "null") != 0)
    md = EVP_MD_fetch (NULL, digest, NULL);
  if (!md)
    return NULL;
  h = malloc (sizeof *h);
  if (!h)
    die (1, "out of memory");
  h->hasher.checksum = NULL;
  h->hasher.free = free_openssl;
  h->md = md;
  h->ctx = EVP_MD_CTX_new ();
  ok (h->ctx != NULL);
  start (h);
  return h;
}

struct hasher *
openssl_hasher (const char *digest)
{
  struct openssl_hasher *h = new_hasher (digest);

  if (!h)
    return NULL;
  h->hasher.run = run_blocks;
  return &h->hasher;
}

struct hasher *
openssl_message_hasher (const char *digest)
{
  struct openssl_hasher *h = new_hasher (digest);

  if (!h)
    return NULL;
  h->hasher.run = run_message;
  return &h->hasher;
}
