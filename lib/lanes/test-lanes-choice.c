/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the choice of kernels follows what was measured, in threads too.
 * The linker puts a stand-in before the measurement, so that the test says what
 * kernels cost.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "digest/digest.h"
#include "construction/leaf.h"
#include "lanes/test-lanes.h"

int __wrap_lane_costs_measure (const struct lane_hash *hash, unsigned usable,
                               const struct lane_one *one,
                               struct lane_costs *costs);

static atomic_uint measured;    /* how often */
static int measure_error;
static void (*set_costs) (const struct lane_hash *hash, unsigned usable,
                          struct lane_costs *costs);
static const struct lane_hash *child_hash;

int
__wrap_lane_costs_measure (const struct lane_hash *hash, unsigned usable,
                           const struct lane_one *one,
                           struct lane_costs *costs)
{
  (void) one;
  *costs = (struct lane_costs) { .one = 1000 };
  if (!measure_error)
    set_costs (hash, usable, costs);
  atomic_fetch_add (&measured, 1);
  return measure_error;
}

/* ---- What was measured ---- */

static void
all_slow (const struct lane_hash *hash, unsigned usable,
          struct lane_costs *costs)
{
  for (size_t i = 0; hash->kernels[i]; i++)
    if (usable & 1u << i)
      costs->call[i] = (hash->kernels[i]->lanes + 1) * costs->one;
}

static void
all_fast (const struct lane_hash *hash, unsigned usable,
          struct lane_costs *costs)
{
  for (size_t i = 0; hash->kernels[i]; i++)
    if (usable & 1u << i)
      costs->call[i] = costs->one;
}

static void
all_hopeless (const struct lane_hash *hash, unsigned usable,
              struct lane_costs *costs)
{
  (void) hash; (void) usable; (void) costs;
}

/* Another plan each time. */
static void
all_different (const struct lane_hash *hash, unsigned usable,
               struct lane_costs *costs)
{
  const unsigned n = atomic_load (&measured);

  for (size_t i = 0; hash->kernels[i]; i++)
    if (usable & 1u << i)
      costs->call[i] = (1 + n * 7919 % hash->kernels[i]->lanes) * costs->one;
}

static void
measure (struct lanes *lanes)
{
  lanes_add (lanes, (size_t) 32 << 30);
  assert_true (lanes_measure_is_due (lanes));
  lanes_measure (lanes, NULL);
  assert_false (lanes_measure_is_due (lanes));
}

/* What was measured before weighs half: seven times later it hardly counts. */
static void
measure_often (struct lanes *lanes)
{
  for (size_t i = 0; i < 7; i++)
    measure (lanes);
}

/* The measurement with the number FAILING fails. */
static void
check_due (const uint64_t after[4], size_t failing)
{
  struct lanes *lanes = lanes_create (child_hash->name);

  check (lanes);
  set_costs = all_slow;
  for (size_t i = 0; i < 4; i++) {
    check (!lanes_measure_is_due (lanes));
    lanes_add (lanes, after[i] - 2048);
    check (!lanes_measure_is_due (lanes));
    lanes_measure (lanes, NULL);
    check (measured == i);
    lanes_add (lanes, 2048);
    check (lanes_measure_is_due (lanes));
    measure_error = i == failing ? EIO : 0;
    lanes_measure (lanes, NULL);
    check (measured == i + 1);
  }
}

/* After 16 MiB in a process, then after 512 MiB, then after 32 GiB each. */
static void
measure_when_due (void)
{
  static const uint64_t after[] = {
    16 << 20, 512 << 20, (uint64_t) 32 << 30, (uint64_t) 32 << 30
  };

  check_due (after, 2);
}

/* Until there are two. */
static void
measure_when_first_failed (void)
{
  static const uint64_t after[] = {
    16 << 20, 512 << 20, 512 << 20, (uint64_t) 32 << 30
  };

  check_due (after, 0);
}

/* What a call of any kernel costs, in thousandths of the caller's message. */
static unsigned thousandths;

/* The speed of the CPU, which changes, does not matter. */
static void
two_messages (const struct lane_hash *hash, unsigned usable,
              struct lane_costs *costs)
{
  costs->one *= 1 + 3 * (atomic_load (&measured) % 2);
  for (size_t i = 0; hash->kernels[i]; i++)
    if (usable & 1u << i)
      costs->call[i] = thousandths * costs->one / 1000;
}

/* The guess has no weight, and each measurement half of it; but of two plans
 * that are hardly different the older one stays.
 */
static void
keep_plan (void)
{
  static const struct {
    unsigned thousandths, calls;
  } steps[] = {
    { 2010, 0 }, { 1970, 0 }, { 1900, 0 }, { 1800, 1 }, { 2180, 1 },
    { 2180, 0 }, { 1700, 1 }, { 2300, 0 },
  };
  static struct messages m;
  struct lanes *lanes = lanes_create (child_hash->name);

  check (lanes);
  make_messages (child_hash, &m);
  set_costs = two_messages;
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    thousandths = steps[i].thousandths;
    lanes_add (lanes, (size_t) 32 << 30);
    lanes_measure (lanes, NULL);
    check (hash_messages (child_hash, lanes, &m, 2) == steps[i].calls);
  }
}

static void
keep_no_guess (void)
{
  static struct messages m;
  struct lanes *lanes = lanes_create (child_hash->name);

  check (lanes);
  make_messages (child_hash, &m);
  set_costs = two_messages;
  thousandths = 1990;
  lanes_add (lanes, 16 << 20);
  lanes_measure (lanes, NULL);
  check (hash_messages (child_hash, lanes, &m, 2) == 1);
}

/* ---- Batches ---- */

static struct leaf_engine *engine;

static int
hash_batch (void)
{
  static unsigned char bytes[LEAF_GROUP * 4096];
  unsigned char out[LEAF_GROUP][LANE_MAX_MD];
  struct leaf_block blocks[LEAF_GROUP];

  memset (bytes, 1, sizeof bytes);
  for (size_t i = 0; i < LEAF_GROUP; i++)
    blocks[i] = (struct leaf_block) {
      .data = bytes + i * 4096, .len = 4096, .md = out[i]
    };
  return leaf_batch (engine, blocks, LEAF_GROUP);
}

static void *
hash_in_thread (void *opaque)
{
  (void) opaque;
  check (hash_batch () == 0);
  return NULL;
}

/* Whoever measures holds up nobody. */
static void
hash_meanwhile (const struct lane_hash *hash, unsigned usable,
                struct lane_costs *costs)
{
  pthread_t thread;

  check (pthread_create (&thread, NULL, hash_in_thread, NULL) == 0);
  check (pthread_join (thread, NULL) == 0);
  all_fast (hash, usable, costs);
}

static void
measure_after_batches (void)
{
  struct digest *digest = digest_create (child_hash->name);
  size_t i, batches;

  alarm (300);                  /* for what hangs */
  set_costs = hash_meanwhile;
  engine = leaf_engine_create (digest, 4096);
  check (engine);
  check (leaf_best_count (engine) > LEAF_GROUP / 2);
  for (batches = 0; measured == 0; batches++)
    check (hash_batch () == 0);
  check (batches > 124 && batches <= 129); /* 16 MiB */
  for (i = 0; i < 2 * batches; i++)
    check (hash_batch () == 0);
  check (measured == 1);
  check (leaf_best_count (engine) > LEAF_GROUP / 2);
  leaf_engine_free (engine);

  /* What is forced is not measured. */
  setenv ("BLKHASH_CPU", "avx512,avx2,shani,arm64", 1);
  engine = leaf_engine_create (digest, 4096);
  for (i = 0; i < 2 * batches; i++)
    check (hash_batch () == 0);
  check (measured == 1);
  leaf_engine_free (engine);
  digest_free (digest);
}

static void
test_due (void **state)
{
  static void (*const run[]) (void) = {
    measure_when_due, measure_when_first_failed, measure_after_batches,
    keep_plan, keep_no_guess
  };

  (void) state;
  for (size_t h = 0; lane_hashes[h]; h++) {
    child_hash = lane_hashes[h];
    if (!has_kernels (child_hash))
      print_message ("SKIP: no kernels of %s here\n", child_hash->name);
    else
      for (size_t i = 0; i < sizeof run / sizeof run[0]; i++)
        assert_true (in_child (run[i]));
  }
}

static void
check_follows (const struct lane_hash *hash, struct lanes *lanes)
{
  struct messages m;
  unsigned calls, i;

  make_messages (hash, &m);
  set_costs = all_slow;
  measure_often (lanes);
  assert_int_equal (hash_messages (hash, lanes, &m, MESSAGES), 0);
  assert_int_equal (lanes_full_group (lanes), 1);
  set_costs = all_fast;
  measure_often (lanes);
  calls = hash_messages (hash, lanes, &m, MESSAGES);
  assert_true (calls >= 1 && calls <= MESSAGES / 2);
  assert_true (lanes_full_group (lanes) >= 2 &&
               lanes_full_group (lanes) <= LANES_MAX);

  /* Who uses it later has the same. */
  assert_ptr_equal (lanes_create (hash->name), lanes);

  set_costs = all_hopeless;     /* once is enough */
  measure (lanes);
  assert_int_equal (hash_messages (hash, lanes, &m, MESSAGES), 0);

  measure_error = EIO;          /* all stays as it is */
  measure (lanes);
  assert_int_equal (hash_messages (hash, lanes, &m, MESSAGES), 0);
  measure_error = 0;

  /* More often than there are plans: then the best of those is taken. */
  set_costs = all_different;
  for (i = 0; i < 100; i++) {
    measure (lanes);
    hash_messages (hash, lanes, &m, MESSAGES);
  }
  set_costs = all_slow;
  measure_often (lanes);
  assert_int_equal (hash_messages (hash, lanes, &m, MESSAGES), 0);
  set_costs = all_fast;
  measure_often (lanes);
  assert_true (hash_messages (hash, lanes, &m, MESSAGES) > 0);
}

static void
test_measured (void **state)
{
  (void) state;
  for (size_t h = 0; lane_hashes[h]; h++) {
    struct lanes *lanes;

    if (!has_kernels (lane_hashes[h]))
      continue;
    lanes = lanes_create (lane_hashes[h]->name);
    assert_non_null (lanes);
    check_follows (lane_hashes[h], lanes);
    lanes_free (lanes);
  }
}

/* ---- Threads ---- */

struct user {
  pthread_t thread;
  const struct lane_hash *hash;
  struct lanes *lanes;
  const struct messages *messages;
};

static void *
hash_and_measure (void *opaque)
{
  struct user *user = opaque;

  for (size_t i = 0; i < 200; i++) {
    hash_messages (user->hash, user->lanes, user->messages, i % MESSAGES + 1);
    lanes_add (user->lanes, (size_t) 8 << 30);
    if (lanes_measure_is_due (user->lanes))
      lanes_measure (user->lanes, NULL);
    lanes_full_group (user->lanes);
  }
  return NULL;
}

static void
one_plan_then_another (const struct lane_hash *hash, unsigned usable,
                       struct lane_costs *costs)
{
  (atomic_load (&measured) % 2 ? all_slow : all_fast) (hash, usable, costs);
}

static void
test_threads (void **state)
{
  enum { USERS = 4 };
  struct user users[USERS];
  struct messages m;
  size_t i;

  (void) state;
  set_costs = one_plan_then_another;
  for (size_t h = 0; lane_hashes[h]; h++) {
    const struct lane_hash *hash = lane_hashes[h];
    const unsigned before = atomic_load (&measured);
    struct lanes *lanes;

    if (!has_kernels (hash))
      continue;
    lanes = lanes_create (hash->name);
    assert_non_null (lanes);
    make_messages (hash, &m);
    for (i = 0; i < USERS; i++) {
      users[i] = (struct user) { .hash = hash, .lanes = lanes, .messages = &m };
      assert_int_equal (pthread_create (&users[i].thread, NULL,
                                        hash_and_measure, &users[i]), 0);
    }
    for (i = 0; i < USERS; i++)
      pthread_join (users[i].thread, NULL);
    assert_true (atomic_load (&measured) > before);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_due),     /* first: nothing is measured yet */
    cmocka_unit_test (test_threads), /* before all plans are used */
    cmocka_unit_test (test_measured),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
