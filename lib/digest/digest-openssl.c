/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The digests of OpenSSL, by their names in OpenSSL's object table, which
 * `openssl dgst -list` prints.  A digest without such a name is offered only if
 * it is Keccak, and a digest of variable length only if it is SHAKE.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/provider.h>

#include "blkhash.h"
#include "digest/digest-family.h"

#define NAME_CHARS \
  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/."

/* KECCAK has no NID in OpenSSL, and so no name with static storage. */
static const char *const numberless[] = {
  "keccak-224", "keccak-256", "keccak-384", "keccak-512",
};

/* Returns the canonical name of MD, or NULL if it has none.  Digests without
 * such a name are not offered: the one that is called "NULL" does not hash, and
 * those like KECCAK-KMAC are parts of a MAC.
 */
static const char *
canonical_name (const EVP_MD *md)
{
  int nid = EVP_MD_get_type (md);
  size_t i;

  if (nid != NID_undef)
    return OBJ_nid2ln (nid);
  for (i = 0; i < sizeof numberless / sizeof numberless[0]; i++)
    if (EVP_MD_is_a (md, numberless[i]))
      return numberless[i];
  return NULL;
}

/* Returns the length of the digests of MD in bytes, or 0 if it is variable or
 * not supported.  For SHAKE, it is the default length of OpenSSL before 3.4.
 */
static size_t
md_size (const EVP_MD *md)
{
  int size;

  if (EVP_MD_is_a (md, "SHAKE128"))
    return 16;
  if (EVP_MD_is_a (md, "SHAKE256"))
    return 32;
  if (EVP_MD_get_flags (md) & EVP_MD_FLAG_XOF)
    return 0;
  size = EVP_MD_get_size (md);
  return size > 0 && size <= BLKHASH_MAX_MD_SIZE ? size : 0;
}

/* Our kernels may replace only the implementation of the default provider.  If
 * the configuration selects another provider, or FIPS mode requires a validated
 * one, the user relies on that provider's implementation.
 */
static bool
is_replaceable (const EVP_MD *md)
{
  const OSSL_PROVIDER *provider = EVP_MD_get0_provider (md);

  return !EVP_default_properties_is_fips_enabled (NULL) &&
    provider && strcmp (OSSL_PROVIDER_get0_name (provider), "default") == 0;
}

static int
openssl_setup (const struct digest *digest, void *state)
{
  (void) digest;
  *(EVP_MD_CTX **) state = EVP_MD_CTX_new ();
  return *(EVP_MD_CTX **) state ? 0 : ENOMEM;
}

static void
openssl_teardown (void *state)
{
  EVP_MD_CTX_free (*(EVP_MD_CTX **) state);
}

static int
openssl_init (const struct digest *digest, void *state)
{
  EVP_MD_CTX *ctx = *(EVP_MD_CTX **) state;

  return EVP_DigestInit_ex2 (ctx, digest->impl, NULL) ? 0 : EIO;
}

static int
openssl_update (void *state, const void *buf, size_t len)
{
  return EVP_DigestUpdate (*(EVP_MD_CTX **) state, buf, len) ? 0 : EIO;
}

static int
openssl_final (const struct digest *digest, void *state, unsigned char *md)
{
  EVP_MD_CTX *ctx = *(EVP_MD_CTX **) state;

  if (EVP_MD_get_flags (digest->impl) & EVP_MD_FLAG_XOF)
    return EVP_DigestFinalXOF (ctx, md, digest->size) ? 0 : EIO;
  return EVP_DigestFinal_ex (ctx, md, NULL) ? 0 : EIO;
}

static void
openssl_release (struct digest *digest)
{
  EVP_MD_free (digest->impl);
}

static const struct digest_ops ops = {
  .state_size = sizeof (EVP_MD_CTX *),
  .setup = openssl_setup,
  .teardown = openssl_teardown,
  .init = openssl_init,
  .update = openssl_update,
  .final = openssl_final,
  .release = openssl_release,
};

/* Returns 0, EINVAL if no provider has the digest, or ENOMEM.  Does not change
 * OpenSSL's error queue, which the program may use.
 */
static int
fetch (const char *name, EVP_MD **md)
{
  int reason;

  ERR_set_mark ();
  *md = EVP_MD_fetch (NULL, name, NULL);
  reason = ERR_GET_REASON (ERR_peek_last_error ());
  ERR_pop_to_mark ();
  return *md ? 0 : reason == ERR_R_UNSUPPORTED ? EINVAL : ENOMEM;
}

static int
openssl_find (const char *name, struct digest *digest)
{
  EVP_MD *md;
  int err;

  /* Newer versions of OpenSSL ignore white space around a name; refuse it. */
  if (name[strspn (name, NAME_CHARS)] != '\0')
    return EINVAL;
  err = fetch (name, &md);
  if (err)
    return err;
  if (!canonical_name (md) || md_size (md) == 0) {
    EVP_MD_free (md);
    return EINVAL;
  }
  digest->ops = &ops;
  digest->name = canonical_name (md);
  digest->size = md_size (md);
  digest->replaceable = is_replaceable (md);
  digest->impl = md;
  return 0;
}

struct lister {
  void (*yield) (const char *name, void *opaque);
  void *opaque;
};

static void
list_one (EVP_MD *md, void *opaque)
{
  struct lister *lister = opaque;

  if (canonical_name (md) && md_size (md) > 0)
    lister->yield (canonical_name (md), lister->opaque);
}

static void
openssl_list (void (*yield) (const char *name, void *opaque), void *opaque)
{
  struct lister lister = { yield, opaque };

  EVP_MD_do_all_provided (NULL, list_one, &lister);
}

const struct digest_family digest_openssl = {
  .find = openssl_find, .list = openssl_list
};
