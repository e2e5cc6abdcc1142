/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: an outer hash of which any call of the digest fails has no digest,
 * and leaves of zeros are leaves.  Linker wrappers make the calls fail.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "construction/opts.h"
#include "construction/outer.h"
#include "digest/digest.h"

#define COUNT(array) (sizeof (array) / sizeof (array)[0])
#define SIZE 32                 /* of a leaf, bytes */
#define MANY 3000               /* leaves of zeros, more than one update takes */

struct digest_ctx *__real_digest_ctx_create (const struct digest *digest);
struct digest_ctx *__wrap_digest_ctx_create (const struct digest *digest);
int __real_digest_init (struct digest_ctx *ctx);
int __wrap_digest_init (struct digest_ctx *ctx);
int __real_digest_update (struct digest_ctx *ctx, const void *buf, size_t len);
int __wrap_digest_update (struct digest_ctx *ctx, const void *buf, size_t len);
int __real_digest_final (struct digest_ctx *ctx, unsigned char *md);
int __wrap_digest_final (struct digest_ctx *ctx, unsigned char *md);

static unsigned calls, failing; /* FAILING: the call that fails; 0: none */

static bool
fails (void)
{
  return ++calls == failing;
}

struct digest_ctx *
__wrap_digest_ctx_create (const struct digest *digest)
{
  return fails () ? NULL : __real_digest_ctx_create (digest);
}

int
__wrap_digest_init (struct digest_ctx *ctx)
{
  return fails () ? EIO : __real_digest_init (ctx);
}

int
__wrap_digest_update (struct digest_ctx *ctx, const void *buf, size_t len)
{
  return fails () ? EIO : __real_digest_update (ctx, buf, len);
}

int
__wrap_digest_final (struct digest_ctx *ctx, unsigned char *md)
{
  return fails () ? EIO : __real_digest_final (ctx, md);
}

static const struct construction constructions[] = {
  { .streams = 0 }, { .linear = true }, { .streams = 1 }, { .streams = 3 }
};
static const unsigned char zero_leaf[SIZE] = { 1, 2, 3 };

/* Hash five leaves, COUNT leaves of zeros, and two leaves. */
static int
hash (const struct construction *construction, size_t count, bool as_leaves,
      unsigned char *md)
{
  struct digest *digest = digest_create ("sha256");
  unsigned char leaves[5 * SIZE];
  struct outer *outer;
  int err;

  assert_non_null (digest);
  memset (leaves, 7, sizeof leaves);
  calls = 0;
  errno = 0;
  outer = outer_create (digest, construction, zero_leaf);
  err = outer ? outer_leaves (outer, leaves, 5) : errno;
  assert_true (outer || err);
  if (err == 0 && !as_leaves)
    err = outer_zeros (outer, count);
  for (; err == 0 && as_leaves && count > 0; count--)
    err = outer_leaves (outer, zero_leaf, 1);
  if (err == 0)
    err = outer_leaves (outer, leaves, 2);
  if (err == 0)
    err = outer_final (outer, 12345, md);
  outer_free (outer);
  digest_free (digest);
  return err;
}

static void
test_failures (void **state)
{
  unsigned char md[SIZE];

  (void) state;
  for (size_t i = 0; i < COUNT (constructions); i++) {
    failing = 0;
    assert_int_equal (hash (&constructions[i], MANY, false, md), 0);
    for (unsigned last = calls, n = 1; n <= last; n++) {
      failing = n;
      assert_int_not_equal (hash (&constructions[i], MANY, false, md), 0);
      assert_int_equal (calls, n);      /* the hash ends there */
    }
  }
}

static void
test_zeros (void **state)
{
  static const size_t counts[] = { 0, 1, 2, 3, 4, MANY };
  unsigned char md[SIZE], other[SIZE];

  (void) state;
  failing = 0;
  for (size_t i = 0; i < COUNT (constructions); i++)
    for (size_t j = 0; j < COUNT (counts); j++) {
      assert_int_equal (hash (&constructions[i], counts[j], false, md), 0);
      assert_int_equal (hash (&constructions[i], counts[j], true, other), 0);
      assert_memory_equal (md, other, SIZE);
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_failures),
    cmocka_unit_test (test_zeros),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
