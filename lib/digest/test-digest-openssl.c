/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: in FIPS mode, and with other providers than the default one,
 * OpenSSL computes all of its own digests.  Linker wrappers replace the OpenSSL
 * functions that report that mode and the provider's name, and count the calls
 * of lanes_hash, which runs our kernels.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

#include "construction/leaf.h"
#include "digest/digest.h"
#include "lanes/lanes.h"

#define BLOCK 4096

static bool fips;
static const char *provider;    /* reported name of the provider; NULL: the real
                                 * one */
static unsigned calls;          /* of lanes_hash */

int __wrap_EVP_default_properties_is_fips_enabled (OSSL_LIB_CTX *ctx);
const char *__real_OSSL_PROVIDER_get0_name (const OSSL_PROVIDER *prov);
const char *__wrap_OSSL_PROVIDER_get0_name (const OSSL_PROVIDER *prov);
size_t __real_lanes_hash (const struct lanes *lanes, const void *const data[],
                          size_t len, unsigned char *const md[], size_t count);
size_t __wrap_lanes_hash (const struct lanes *lanes, const void *const data[],
                          size_t len, unsigned char *const md[], size_t count);

int
__wrap_EVP_default_properties_is_fips_enabled (OSSL_LIB_CTX *ctx)
{
  (void) ctx;
  return fips;
}

const char *
__wrap_OSSL_PROVIDER_get0_name (const OSSL_PROVIDER *prov)
{
  return provider ? provider : __real_OSSL_PROVIDER_get0_name (prov);
}

size_t
__wrap_lanes_hash (const struct lanes *lanes, const void *const data[],
                   size_t len, unsigned char *const md[], size_t count)
{
  calls++;
  return __real_lanes_hash (lanes, data, len, md, count);
}

/* Hash LEAF_GROUP different blocks.  Returns how often kernels were called. */
static unsigned
hash (const char *name, unsigned char md[][64])
{
  static unsigned char data[LEAF_GROUP][BLOCK];
  struct leaf_block blocks[LEAF_GROUP];
  struct digest *digest = digest_create (name);
  struct leaf_engine *engine = leaf_engine_create (digest, BLOCK);

  assert_non_null (engine);
  for (size_t i = 0; i < LEAF_GROUP; i++) {
    memset (data[i], i + 1, BLOCK);
    blocks[i] = (struct leaf_block) {
      .data = data[i], .len = BLOCK, .md = md[i]
    };
  }
  calls = 0;
  assert_int_equal (leaf_batch (engine, blocks, LEAF_GROUP), 0);
  leaf_engine_free (engine);
  digest_free (digest);
  return calls;
}

static void
check_digest (const char *name)
{
  unsigned char without[LEAF_GROUP][64] = { 0 }, with[LEAF_GROUP][64] = { 0 };
  struct lanes *lanes = lanes_create (name);

  fips = false;
  assert_int_equal (hash (name, without) > 0, lanes != NULL);
  fips = true;
  assert_int_equal (hash (name, with), 0);
  assert_memory_equal (with, without, sizeof with);
  fips = false;
  provider = "fips";
  memset (with, 0, sizeof with);
  assert_int_equal (hash (name, with), 0);
  assert_memory_equal (with, without, sizeof with);
  provider = NULL;
  lanes_free (lanes);
}

static void
test_fips (void **state)
{
  (void) state;
  for (size_t i = 0; lane_hashes[i]; i++)
    if (strcmp (lane_hashes[i]->name, "blake2b-256") != 0) /* not OpenSSL's */
      check_digest (lane_hashes[i]->name);
}

static void
test_other_digests (void **state)
{
  unsigned char md[LEAF_GROUP][64];

  (void) state;
  fips = false;
  assert_int_equal (hash ("sha224", md), 0);
  assert_int_equal (hash ("sha512-256", md), 0);
  assert_int_equal (hash ("md5", md), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_fips),
    cmocka_unit_test (test_other_digests),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
