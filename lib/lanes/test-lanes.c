/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: which kernels (multi-buffer implementations) are used, and that a
 * kernel that computes wrong results is an error.  A linker wrapper replaces
 * the self-test of kernels.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "blkhash.h"
#include "lanes/test-lanes.h"

bool __real_lane_kernel_works (const struct lane_hash *hash,
                               const struct lane_kernel *kernel);
bool __wrap_lane_kernel_works (const struct lane_hash *hash,
                               const struct lane_kernel *kernel);

static const struct lane_kernel *broken;
static unsigned self_tests;

bool
__wrap_lane_kernel_works (const struct lane_hash *hash,
                          const struct lane_kernel *kernel)
{
  self_tests++;
  return kernel != broken && __real_lane_kernel_works (hash, kernel);
}

/* ---- Usable kernels ---- */

static void
test_usable (void **state)
{
  static const struct lane_kernel kernel = { .name = "avx-x8", .cpu = 5 };
  static const char *const with[] = {
    "avx-x8", "avx", "x,avx", "avx,x", ",avx-x8", "none,avx-x8,",
  };
  static const char *const without[] = {
    "", "none", ",", "av", "avx-", "avx-x", "avx-x1", "avx-x80", "avx2", "-x8",
    " avx", "avx ", "avx;x", "AVX",
  };
  size_t i;

  (void) state;
  assert_true (lane_kernel_is_usable (&kernel, 5, NULL));
  assert_true (lane_kernel_is_usable (&kernel, 7, NULL));
  assert_false (lane_kernel_is_usable (&kernel, 0, NULL));
  assert_false (lane_kernel_is_usable (&kernel, 4 | 2, NULL));
  for (i = 0; i < sizeof with / sizeof with[0]; i++) {
    assert_true (lane_kernel_is_usable (&kernel, 5, with[i]));
    assert_false (lane_kernel_is_usable (&kernel, 4, with[i]));
  }
  for (i = 0; i < sizeof without / sizeof without[0]; i++)
    assert_false (lane_kernel_is_usable (&kernel, 5, without[i]));
}

/* A kernel that mixes AVX2 or AVX-512 with SHA instructions is used only on AMD
 * CPUs.
 */
static void
test_mixed (void **state)
{
  (void) state;
  for (size_t h = 0; lane_hashes[h]; h++)
    for (size_t k = 0; lane_hashes[h]->kernels[k]; k++) {
      const unsigned cpu = lane_hashes[h]->kernels[k]->cpu;

      if ((cpu & CPU_SHANI) && (cpu & (CPU_AVX2 | CPU_AVX512)))
        assert_true (cpu & CPU_AMD);
    }
}

static void
test_none (void **state)
{
  static const char *const names[] = { "", "md5", "SHA256", "sha256-x8" };

  (void) state;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    assert_null (lanes_create (names[i]));
    assert_int_equal (errno, ENOTSUP);
  }
  setenv ("BLKHASH_CPU", "none", 1);
  for (size_t h = 0; lane_hashes[h]; h++) {
    assert_null (lanes_create (lane_hashes[h]->name));
    assert_int_equal (errno, ENOTSUP);
  }
  unsetenv ("BLKHASH_CPU");
}

/* A kernel that is listed in BLKHASH_CPU is used, even if kernels that are not
 * listed are faster.  It computes right digests of any number of messages.
 */
static void
check_forced (const struct lane_hash *hash, const char *list)
{
  struct messages m;
  struct lanes *lanes;

  make_messages (hash, &m);
  setenv ("BLKHASH_CPU", list, 1);
  lanes = lanes_create (hash->name);
  assert_non_null (lanes);
  for (size_t n = 0; n <= MESSAGES; n++)
    hash_messages (hash, lanes, &m, n);
  assert_true (hash_messages (hash, lanes, &m, MESSAGES) > 0);
  assert_true (lanes_full_group (lanes) >= 2 &&
               lanes_full_group (lanes) <= LANES_MAX);
  lanes_add (lanes, SIZE_MAX / 4);
  assert_false (lanes_measure_is_due (lanes));
  lanes_free (lanes);
  unsetenv ("BLKHASH_CPU");
}

static void
test_forced (void **state)
{
  char list[100];

  (void) state;
  for (size_t h = 0; lane_hashes[h]; h++)
    for (size_t k = 0; lane_hashes[h]->kernels[k]; k++) {
      const struct lane_kernel *kernel = lane_hashes[h]->kernels[k];

      if (!lane_kernel_is_usable (kernel, cpu_features (), NULL))
        continue;
      snprintf (list, sizeof list, "no-such,%s", kernel->name);
      check_forced (lane_hashes[h], list);
      snprintf (list, sizeof list, "%s", kernel->name);
      *strchr (list, '-') = '\0';
      check_forced (lane_hashes[h], list);
    }
}

/* ---- Self-tests ---- */

static const struct lane_hash *child_hash;

/* A hash that uses the broken kernel returns an error and no sum. */
static void
hash_with_broken (void)
{
  static unsigned char data[1 << 20];
  struct blkhash_opts *opts = blkhash_opts_new (child_hash->name);
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash *hash;

  check (opts);
  memset (data, 1, sizeof data);
  hash = blkhash_new_opts (opts);
  check (hash || errno == EIO);
  if (hash) {
    blkhash_update (hash, data, sizeof data);
    check (blkhash_final (hash, md, NULL) == EIO);
  }
  blkhash_free (hash);
  blkhash_opts_free (opts);
}

/* A kernel that computes wrong results is an error, and is not skipped.  If the
 * guessed plan uses the kernel, the error is detected when the plan is created.
 * Otherwise it is detected before the kernel can be selected, and again by each
 * later attempt.
 */
static void
use_broken (void)
{
  struct lanes *lanes;

  lanes = lanes_create (child_hash->name);
  check (lanes || errno == EIO);
  if (lanes) {
    lanes_add (lanes, 16 << 20);
    check (lanes_measure (lanes, NULL) == EIO);
    check (lanes_measure_is_due (lanes));
    check (lanes_measure (lanes, NULL) == EIO);
  }
  hash_with_broken ();
  setenv ("BLKHASH_CPU", broken->name, 1);
  check (!lanes_create (child_hash->name) && errno == EIO);
  setenv ("BLKHASH_CPU", "none", 1);
  check (!lanes_create (child_hash->name) && errno == ENOTSUP);
}

static int
update_fails (void *opaque, const void *data, size_t len)
{
  (void) opaque; (void) data; (void) len;
  return EIO;
}

/* Each usable kernel is tested once, at the latest when lanes_measure is first
 * called.
 */
static void
self_test_once (void)
{
  const struct single_hash single = { .update = update_fails };
  struct lanes *lanes;
  unsigned before, usable = 0;

  for (size_t k = 0; child_hash->kernels[k]; k++)
    usable += lane_kernel_is_usable (child_hash->kernels[k], cpu_features (),
                                     NULL);
  lanes = lanes_create (child_hash->name);
  check (lanes && self_tests > 0);
  before = self_tests;
  check (lanes_create (child_hash->name) == lanes && self_tests == before);
  lanes_add (lanes, 16 << 20);
  check (lanes_measure (lanes, &single) == 0);
  check (self_tests == usable);
  before = self_tests;
  setenv ("BLKHASH_CPU", "avx512,avx2,shani,arm64", 1);
  lanes = lanes_create (child_hash->name);
  lanes_free (lanes);
  check (lanes && self_tests == before);
}

static void
test_self_tests (void **state)
{
  (void) state;
  for (size_t h = 0; lane_hashes[h]; h++) {
    child_hash = lane_hashes[h];
    for (size_t k = 0; child_hash->kernels[k]; k++) {
      broken = child_hash->kernels[k];
      if (lane_kernel_is_usable (broken, cpu_features (), NULL))
        assert_true (in_child (use_broken));
    }
    broken = NULL;
    if (has_kernels (child_hash))
      assert_true (in_child (self_test_once));
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_self_tests), /* must be first, while no kernel has
                                         * been tested */
    cmocka_unit_test (test_usable),
    cmocka_unit_test (test_mixed),
    cmocka_unit_test (test_none),
    cmocka_unit_test (test_forced),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
