/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: every kernel of every hash computes, in each of its lanes, the
 * examples that were published for FIPS 180 and by the authors of BLAKE2b.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"
#include "lanes/lanes.h"

/* The second message of SHA hashes with words of 32 bits, and of 64 bits. */
#define SHORT_WORDS "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
#define LONG_WORDS \
  "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnop" \
  "jklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"

/* The third message: a million times 'a'. */
static char million[1000000];

static const struct example {
  const char *hash;
  const char *second;
  /* Digests of "abc", of the second message and, unless NULL, of the third. */
  const char *md[3];
} examples[] = {
  { "blake2b-256", "", {
      "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319",
      "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8",
      NULL
    } },
  { "blake2b512", "", {
      "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
      "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
      "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
      "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce",
      NULL
    } },
  { "sha1", SHORT_WORDS, {
      "a9993e364706816aba3e25717850c26c9cd0d89d",
      "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
      "34aa973cd4c4daa4f61eeb2bdbad27316534016f"
    } },
  { "sha256", SHORT_WORDS, {
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    } },
  { "sha384", LONG_WORDS, {
      "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
      "8086072ba1e7cc2358baeca134c825a7",
      "09330c33f71147e83d192fc782cd1b4753111b173b3b05d22fa08086e3b0f712"
      "fcc7c71a557e2db966c3e9fa91746039",
      "9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b"
      "07b8b3dc38ecc4ebae97ddd87f3d8985"
    } },
  { "sha512", LONG_WORDS, {
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
      "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
      "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
      "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909",
      "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
      "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"
    } },
};

#define NR_EXAMPLES (sizeof examples / sizeof examples[0])

static void
compare (const char *kernel, size_t lane, const unsigned char *md, size_t size,
         const char *expected)
{
  char hex[2 * LANE_MAX_MD + 1];

  for (size_t i = 0; i < size; i++)
    snprintf (hex + 2 * i, 3, "%02x", md[i]);
  if (strcmp (hex, expected) != 0)
    fail_msg ("%s, lane %zu:\n  expected %s\n  got      %s", kernel, lane,
              expected, hex);
}

/* Hash MESSAGE in each lane in turn, while the other lanes hash other bytes. */
static void
check_lanes (const struct lane_hash *hash, const struct lane_kernel *kernel,
             const char *message, const char *expected)
{
  unsigned char out[LANES_MAX][LANE_MAX_MD], *md[LANES_MAX];
  const void *data[LANES_MAX];
  size_t lane, i;

  for (lane = 0; lane < kernel->lanes; lane++) {
    for (i = 0; i < kernel->lanes; i++) {
      data[i] = i == lane ? message : million;
      md[i] = out[i];
    }
    lane_kernel_hash (hash, kernel, data, strlen (message), md, kernel->lanes);
    compare (kernel->name, lane, md[lane], hash->md, expected);
  }
}

/* Hash the third message in all lanes at once. */
static void
check_million (const struct lane_hash *hash, const struct lane_kernel *kernel,
               const char *expected)
{
  unsigned char out[LANES_MAX][LANE_MAX_MD], *md[LANES_MAX];
  const void *data[LANES_MAX];
  size_t i;

  for (i = 0; i < kernel->lanes; i++) {
    data[i] = million;
    md[i] = out[i];
  }
  lane_kernel_hash (hash, kernel, data, sizeof million, md, kernel->lanes);
  for (i = 0; i < kernel->lanes; i++)
    compare (kernel->name, i, md[i], hash->md, expected);
}

static const struct example *
find_example (const char *hash)
{
  for (size_t i = 0; i < NR_EXAMPLES; i++)
    if (strcmp (examples[i].hash, hash) == 0)
      return &examples[i];
  return NULL;
}

static void
test_examples (void **state)
{
  const struct lane_kernel *kernel;

  (void) state;
  for (size_t h = 0; lane_hashes[h]; h++) {
    const struct example *example = find_example (lane_hashes[h]->name);

    assert_non_null (example);
    for (size_t k = 0; (kernel = lane_hashes[h]->kernels[k]); k++)
      if (kernel->cpu & ~cpu_features ())
        print_message ("SKIP: this CPU cannot run %s\n", kernel->name);
      else {
        print_message ("%s by %s\n", example->hash, kernel->name);
        check_lanes (lane_hashes[h], kernel, "abc", example->md[0]);
        check_lanes (lane_hashes[h], kernel, example->second, example->md[1]);
        if (example->md[2])
          check_million (lane_hashes[h], kernel, example->md[2]);
      }
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_examples),
  };

  memset (million, 'a', sizeof million);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
