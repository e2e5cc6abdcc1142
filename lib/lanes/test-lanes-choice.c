/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: kernels (multi-buffer implementations) are selected by their
 * measured costs, also if several threads hash.  Linker wrappers replace the
 * measurement and the clock, so the test sets the costs and the time.
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

#include "construction/leaf.h"
#include "digest/digest.h"
#include "lanes/test-lanes.h"

int __wrap_lane_costs_measure (const struct lane_hash *hash, unsigned usable,
                               const struct single_hash *single,
                               struct lane_costs *costs);
uint64_t __wrap_lane_time (void);

#define MIB (1 << 20)
#define SECOND UINT64_C (1000000000)

static _Atomic uint64_t now = 1000 * SECOND;
static atomic_uint measured;    /* number of measurements */
static int measure_error;
static void (*set_costs) (const struct lane_hash *hash, unsigned usable,
                          struct lane_costs *costs);
static const struct lane_hash *child_hash;

uint64_t
__wrap_lane_time (void)
{
  return now;
}

int
__wrap_lane_costs_measure (const struct lane_hash *hash, unsigned usable,
                           const struct single_hash *single,
                           struct lane_costs *costs)
{
  (void) single;
  *costs = (struct lane_costs) { .single = 1000 };
  if (!measure_error)
    set_costs (hash, usable, costs);
  atomic_fetch_add (&measured, 1);
  return measure_error;
}

/* ---- Measured costs ---- */

static void
all_slow (const struct lane_hash *hash, unsigned usable,
          struct lane_costs *costs)
{
  for (size_t i = 0; hash->kernels[i]; i++)
    if (usable & 1u << i)
      costs->call[i] = (hash->kernels[i]->lanes + 1) * costs->single;
}

static void
all_fast (const struct lane_hash *hash, unsigned usable,
          struct lane_costs *costs)
{
  for (size_t i = 0; hash->kernels[i]; i++)
    if (usable & 1u << i)
      costs->call[i] = costs->single;
}

static void
all_too_slow (const struct lane_hash *hash, unsigned usable,
              struct lane_costs *costs)
{
  (void) hash; (void) usable; (void) costs;
}

/* The cost of a call of any kernel, in thousandths of the cost of one message
 * without a kernel.
 */
static unsigned thousandths;

/* Every other measurement is of a CPU that is four times as slow.  This does
 * not matter: the costs are relative.
 */
static void
two_messages (const struct lane_hash *hash, unsigned usable,
              struct lane_costs *costs)
{
  costs->single *= 1 + 3 * (atomic_load (&measured) % 2);
  for (size_t i = 0; hash->kernels[i]; i++)
    if (usable & 1u << i)
      costs->call[i] = thousandths * costs->single / 1000;
}

/* ---- The time of the measurements ---- */

/* lanes_measure measures the costs if a measurement is due, and only then. */
static void
check_due (struct lanes *lanes, bool due)
{
  const unsigned before = measured;

  check (lanes_measure_is_due (lanes) == due);
  check (lanes_measure (lanes, NULL) == 0);
  check (measured == before + due);
  check (!lanes_measure_is_due (lanes));
}

/* The first measurement of a process is due after 16 MiB, the second one 5
 * seconds later, and there is no third.  FAILING is the number of the
 * measurement that fails, 1 or 2, or 0 if both succeed.
 */
static void
measure_when_due (unsigned failing)
{
  struct lanes *lanes = lanes_create (child_hash->name);

  check (lanes);
  set_costs = all_slow;
  now += 3600 * SECOND;         /* time alone is not sufficient */
  lanes_add (lanes, 16 * MIB - 2048);
  check_due (lanes, false);
  lanes_add (lanes, 2048);
  measure_error = failing == 1 ? EIO : 0;
  check_due (lanes, true);

  lanes_add (lanes, (size_t) 32 << 30); /* data alone is not sufficient */
  now += 5 * SECOND - 1;
  check_due (lanes, false);
  now += 1;
  measure_error = failing == 2 ? EIO : 0;
  check_due (lanes, true);

  lanes_add (lanes, (size_t) 32 << 30);
  now += 3600 * SECOND;
  check_due (lanes, false);
}

static void
measure_twice (void)
{
  measure_when_due (0);
}

static void
measure_twice_first_fails (void)
{
  measure_when_due (1);
}

static void
measure_twice_second_fails (void)
{
  measure_when_due (2);
}

/* ---- Results of the measurements ---- */

static void
measure (struct lanes *lanes)
{
  lanes_add (lanes, 16 * MIB);
  now += 5 * SECOND;
  check_due (lanes, true);
}

/* The second measurement replaces the first, even if the difference is small.
 * A kernel is used for two messages if its call costs less than 2000
 * thousandths, which is the cost of two messages without a kernel.
 */
static void
check_replaced (unsigned first, unsigned second)
{
  static struct messages m;
  struct lanes *lanes = lanes_create (child_hash->name);

  check (lanes);
  make_messages (child_hash, &m);
  set_costs = two_messages;
  thousandths = first;
  measure (lanes);
  check (hash_messages (child_hash, lanes, &m, 2) == (first < 2000));
  thousandths = second;
  measure (lanes);
  check (hash_messages (child_hash, lanes, &m, 2) == (second < 2000));
}

static void
replace_fast (void)
{
  check_replaced (1000, 2010);
}

static void
replace_slow (void)
{
  check_replaced (2010, 1990);
}

static void
check_none (struct lanes *lanes, const struct messages *m)
{
  check (hash_messages (child_hash, lanes, m, MESSAGES) == 0);
  check (lanes_full_group (lanes) == 1);
}

static void
check_fast (struct lanes *lanes, const struct messages *m)
{
  const unsigned calls = hash_messages (child_hash, lanes, m, MESSAGES);

  check (calls >= 1 && calls <= MESSAGES / 2);
  check (lanes_full_group (lanes) >= 2 &&
         lanes_full_group (lanes) <= LANES_MAX);
}

static void
follow_slow_fast (void)
{
  static struct messages m;
  struct lanes *lanes = lanes_create (child_hash->name);

  check (lanes);
  make_messages (child_hash, &m);
  set_costs = all_slow;
  measure (lanes);
  check_none (lanes, &m);
  set_costs = all_fast;
  measure (lanes);
  check_fast (lanes, &m);

  /* Users that are created later share the same object. */
  check (lanes_create (child_hash->name) == lanes);
}

static void
follow_fast_too_slow (void)
{
  static struct messages m;
  struct lanes *lanes = lanes_create (child_hash->name);

  check (lanes);
  make_messages (child_hash, &m);
  set_costs = all_fast;
  measure (lanes);
  check_fast (lanes, &m);
  set_costs = all_too_slow;
  measure (lanes);
  check_none (lanes, &m);
}

/* A measurement that fails does not change the plan. */
static void
follow_failed (void)
{
  static struct messages m;
  struct lanes *lanes = lanes_create (child_hash->name);

  check (lanes);
  make_messages (child_hash, &m);
  set_costs = all_slow;
  measure (lanes);
  measure_error = EIO;
  measure (lanes);
  check_none (lanes, &m);
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

/* Another thread can hash a batch while this thread measures. */
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

  alarm (300);                  /* fail if the test hangs */
  set_costs = hash_meanwhile;
  engine = leaf_engine_create (digest, 4096);
  check (engine);
  check (leaf_best_count (engine) > LEAF_GROUP / 2);
  for (batches = 0; measured == 0; batches++)
    check (hash_batch () == 0);
  check (batches > 124 && batches <= 129); /* 16 MiB are 128 batches */
  for (i = 0; i < 2 * batches; i++)
    check (hash_batch () == 0);
  check (measured == 1);
  check (leaf_best_count (engine) > LEAF_GROUP / 2);
  now += 5 * SECOND;
  for (i = 0; i < 2 * batches; i++)
    check (hash_batch () == 0);
  check (measured == 2);
  leaf_engine_free (engine);

  /* A forced plan is never replaced by a measurement. */
  setenv ("BLKHASH_CPU", "avx512,avx2,shani,arm64", 1);
  engine = leaf_engine_create (digest, 4096);
  for (i = 0; i < 2 * batches; i++)
    check (hash_batch () == 0);
  check (measured == 2);
  leaf_engine_free (engine);
  digest_free (digest);
}

static void
test_choice (void **state)
{
  static void (*const run[]) (void) = {
    measure_twice, measure_twice_first_fails, measure_twice_second_fails,
    replace_fast, replace_slow, follow_slow_fast, follow_fast_too_slow,
    follow_failed, measure_after_batches
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
    lanes_add (user->lanes, MIB);
    now += SECOND / 4;
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
    assert_int_equal (atomic_load (&measured), before + 2);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_choice), /* must be first, while nothing is
                                     * measured yet */
    cmocka_unit_test (test_threads),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
