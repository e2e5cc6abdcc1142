/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The plan: make it from costs, test its kernels, replace it after a
 * measurement, and hash by it.
 *
 * All users of a hash in a process share its plan, so each kernel is tested
 * once and measured twice.  The kernels of the guessed plan are tested before
 * the plan is used, and all other kernels before the first measurement, so a
 * process that hashes little data tests few kernels.  If BLKHASH_CPU is set,
 * each user has its own plan, which is the guessed one and is never replaced,
 * so that tests do not depend on timing.
 *
 * The guessed plan uses constant costs of a call of each kernel.  They are in
 * percent of the time that OpenSSL, or libb2, takes to hash one message of the
 * same length; for SHA-256 this is the time on a CPU with instructions for it,
 * and cost_plain is the time without such instructions.  The costs of SHA-256
 * on x86 were measured on Emerald Rapids, or on Zen 4 for kernels that do not
 * run on Emerald Rapids.  Those of its AVX2 and AVX-512 kernels were later
 * adjusted by ratios measured on Cascade Lake.  The origin of the other costs
 * is described in the files of the hashes and in sha256-arm64.c.
 *
 * Kernels are measured after the first MiBs, and again some seconds later.
 * The second measurement replaces the first: otherwise a server that happened
 * to be busy during the first one could use a bad plan for as long as it runs.
 *
 * A plan is immutable once it is published, and exists as long as its struct
 * lanes, so readers take no lock.  A hash has at most three plans: the guessed
 * one and one for each measurement.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpu.h"
#include "common/fork.h"
#include "common/util.h"
#include "lanes/lanes.h"

const struct lane_hash *const lane_hashes[] = {
#ifdef HAVE_LIBB2
  &blake2b_256_lane_hash,
#endif
  &blake2b_512_lane_hash, &sha256_lane_hash, &sha384_lane_hash,
  &sha512_lane_hash, NULL
};

/* ---- Make a plan ----
 *
 * A kernel is selected for each number of messages, by dynamic programming over
 * the costs of calls.
 */

/* A group of messages is full, so that it need not wait for more messages, if
 * its cost per message is at most this many percent above that of the cheapest
 * group.
 */
#define FULL_PERCENT 5

/* Returns the cheapest kernel with at least COUNT lanes, or LANE_NO_KERNEL. */
static unsigned
cheapest (const struct lane_hash *hash, const struct lane_costs *costs,
          size_t count)
{
  unsigned i, best = LANE_NO_KERNEL;

  for (i = 0; hash->kernels[i]; i++)
    if (costs->call[i] != 0 && hash->kernels[i]->lanes >= count &&
        (best == LANE_NO_KERNEL || costs->call[i] < costs->call[best]))
      best = i;
  assert (i <= LANE_MAX_KERNELS);
  return best;
}

static size_t
full_group (const uint64_t least[LANES_MAX + 1])
{
  size_t n, best = 1;

  for (n = 2; n <= LANES_MAX; n++)
    if (least[n] * best < least[best] * n)
      best = n;
  for (n = 1; n < best; n++)
    if (least[n] * best * 100 <= least[best] * n * (100 + FULL_PERCENT))
      break;
  return n;
}

/* The least cost of N messages is the cost of the next call plus the least cost
 * of the messages that it leaves, minimized over all calls.
 */
void
lane_plan_make (struct lane_plan *plan, const struct lane_hash *hash,
                const struct lane_costs *costs)
{
  uint64_t least[LANES_MAX + 1] = { 0 };
  unsigned kernel[LANES_MAX + 1];
  size_t n, m;

  *plan = (struct lane_plan) { .full_group = 1 };
  for (n = 1; n <= LANES_MAX; n++) {
    kernel[n] = cheapest (hash, costs, n);
    least[n] = costs->single + least[n - 1];
    plan->next[n] = 1;
    plan->kernel[n] = LANE_NO_KERNEL;
    for (m = 1; m <= n && kernel[m] != LANE_NO_KERNEL; m++) {
      uint64_t cost = costs->call[kernel[m]] + least[n - m];

      if (cost < least[n] || (cost == least[n] && m > 1)) {
        least[n] = cost;
        plan->next[n] = m;
        plan->kernel[n] = kernel[m];
      }
    }
  }
  plan->full_group = full_group (least);
}

/* ---- Guess and measure plans ---- */

/* The cost of one message in OpenSSL on a CPU with instructions for the hash.
 */
#define SINGLE_COST 100
#define SHA_INSTRUCTIONS (CPU_SHANI | CPU_ARM_SHA2)

/* KiB that are hashed before the costs are measured.  A measurement takes as
 * long as hashing two or three MiB.
 */
#define FIRST_KIB (16L << 10)
#define REMEASURE_NS UINT64_C (5000000000) /* nanoseconds between the two
                                            * measurements */
#define NEVER UINT64_MAX

#define MAX_HASHES 8

struct lanes {
  const struct lane_hash *hash;
  unsigned *self_tested;        /* the element of the array below for this
                                 * hash */
  unsigned usable;              /* bit mask of usable kernels */
  bool forced;                  /* BLKHASH_CPU is set; then REMEASURE_AT is
                                 * NEVER */

  _Atomic (const struct lane_plan *) plan; /* the current plan, in PLANS */
  atomic_long left;             /* KiB until the first measurement */
  _Atomic uint64_t remeasure_at; /* lane_time of the second measurement; 0
                                  * before the first measurement; or NEVER */

  atomic_flag measuring;        /* try-lock that protects the fields below */
  size_t nr_plans;
  struct lane_plan plans[3];
};

/* Both arrays have the order of lane_hashes, and are protected by FORK_LOCK.
 * After lanes_create has returned an element of SHARED, its fields are
 * protected as described in struct lanes.  If a thread measures during fork(2),
 * MEASURING stays set in the child, which then keeps its current plan.
 */
static struct lanes shared[MAX_HASHES];
static unsigned self_tested[MAX_HASHES]; /* bit masks: kernels that passed their
                                          * self-test */

/* Is NAME, or the family that it begins with, an item of LIST? */
static bool
is_listed (const char *name, const char *list)
{
  size_t len;

  for (;; list += len + 1) {
    len = strcspn (list, ",");
    if (strncmp (name, list, len) == 0 &&
        (name[len] == '\0' || name[len] == '-'))
      return true;
    if (list[len] == '\0')
      return false;
  }
}

bool
lane_kernel_is_usable (const struct lane_kernel *kernel, unsigned features,
                       const char *list)
{
  return (kernel->cpu & ~features) == 0 &&
    (!list || is_listed (kernel->name, list));
}

static const struct lane_plan *
current_plan (const struct lanes *lanes)
{
  return atomic_load_explicit (&lanes->plan, memory_order_acquire);
}

/* If BLKHASH_CPU is set, the guess is made for a CPU that has only the listed
 * instruction sets.  For example, kernels of "avx2" are compared with the cost
 * of a message without SHA instructions.
 */
static void
guess_plan (const struct lanes *lanes, unsigned features,
            struct lane_plan *plan)
{
  struct lane_costs costs = { 0 };
  unsigned used = 0;
  size_t i;

  for (i = 0; lanes->hash->kernels[i]; i++)
    if (lanes->usable & 1u << i) {
      costs.call[i] = lanes->hash->kernels[i]->cost;
      used |= lanes->hash->kernels[i]->cpu;
    }
  if (!lanes->forced)
    used = features;
  costs.single = used & SHA_INSTRUCTIONS ? SINGLE_COST
                                         : lanes->hash->cost_plain;
  lane_plan_make (plan, lanes->hash, &costs);
}

/* Returns the kernels that PLAN uses, as a bit mask. */
static unsigned
kernels_of (const struct lane_plan *plan)
{
  unsigned kernels = 0;
  size_t n;

  for (n = 1; n <= LANES_MAX; n++)
    if (plan->kernel[n] != LANE_NO_KERNEL)
      kernels |= 1u << plan->kernel[n];
  return kernels;
}

/* If a kernel fails its self-test, this is an error.  The kernel is not
 * skipped, because a CPU that computes wrong results cannot be trusted with
 * other code either.
 */
static int
self_test_locked (const struct lanes *lanes, unsigned kernels)
{
  size_t i;

  for (i = 0; lanes->hash->kernels[i]; i++)
    if ((kernels & ~*lanes->self_tested) & 1u << i) {
      if (!lane_kernel_works (lanes->hash, lanes->hash->kernels[i]))
        return EIO;
      *lanes->self_tested |= 1u << i;
    }
  return 0;
}

static int
self_test_all (const struct lanes *lanes)
{
  SCOPED_LOCK (&fork_lock);

  return self_test_locked (lanes, lanes->usable);
}

static int
init_locked (struct lanes *lanes, size_t index, const char *list)
{
  const struct lane_hash *hash = lane_hashes[index];
  const unsigned features = cpu_features ();
  size_t i;
  int err;

  *lanes = (struct lanes) {
    .hash = hash, .self_tested = &self_tested[index], .forced = list != NULL,
    .measuring = ATOMIC_FLAG_INIT
  };
  for (i = 0; hash->kernels[i]; i++)
    if (lane_kernel_is_usable (hash->kernels[i], features, list))
      lanes->usable |= 1u << i;
  if (lanes->usable == 0)
    return ENOTSUP;
  guess_plan (lanes, features, &lanes->plans[0]);
  err = self_test_locked (lanes, kernels_of (&lanes->plans[0]));
  if (err)
    return err;
  lanes->nr_plans = 1;
  atomic_init (&lanes->plan, &lanes->plans[0]);
  atomic_init (&lanes->left, FIRST_KIB);
  atomic_init (&lanes->remeasure_at, lanes->forced ? NEVER : 0);
  return 0;
}

/* The lock is held while the kernels are tested, so that each is tested only
 * once.
 */
static struct lanes *
create_locked (size_t index, const char *list)
{
  struct lanes *lanes = list ? malloc (sizeof *lanes) : &shared[index];
  int err;

  if (!lanes)
    return NULL;
  if (!list && current_plan (lanes)) /* already created */
    return lanes;
  err = init_locked (lanes, index, list);
  if (err) {
    if (list)
      free (lanes);
    errno = err;
    return NULL;
  }
  return lanes;
}

struct lanes *
lanes_create (const char *hash)
{
  size_t index;

  for (index = 0; lane_hashes[index]; index++)
    if (strcmp (lane_hashes[index]->name, hash) == 0) {
      SCOPED_LOCK (&fork_lock);

      assert (index < MAX_HASHES);
      return create_locked (index, secure_getenv ("BLKHASH_CPU"));
    }
  errno = ENOTSUP;
  return NULL;
}

void
lanes_free (struct lanes *lanes)
{
  if (lanes && lanes->forced)
    free (lanes);
}

size_t
lanes_hash (const struct lanes *lanes, const void *const data[], size_t len,
            unsigned char *const md[], size_t count)
{
  const struct lane_plan *plan = current_plan (lanes);
  size_t left = MIN (count, LANES_MAX), n = plan->next[left];
  const unsigned i = plan->kernel[left];
  const struct lane_kernel *kernel;

  if (i == LANE_NO_KERNEL)
    return 0;
  kernel = lanes->hash->kernels[i];
  /* Full calls of the same kernel are made together. */
  left -= n;
  if (n == kernel->lanes)
    for (; left >= kernel->lanes && plan->kernel[left] == i &&
           plan->next[left] == kernel->lanes; left -= kernel->lanes)
      n += kernel->lanes;
  lane_kernel_hash (lanes->hash, kernel, data, len, md, n);
  return n;
}

size_t
lanes_full_group (const struct lanes *lanes)
{
  return current_plan (lanes)->full_group;
}

static uint64_t
load_remeasure_at (const struct lanes *lanes)
{
  return atomic_load_explicit (&lanes->remeasure_at, memory_order_relaxed);
}

void
lanes_add (struct lanes *lanes, size_t bytes)
{
  if (load_remeasure_at (lanes) == 0)
    atomic_fetch_sub_explicit (&lanes->left, bytes / 1024 + 1,
                               memory_order_relaxed);
}

bool
lanes_measure_is_due (const struct lanes *lanes)
{
  const uint64_t remeasure_at = load_remeasure_at (lanes);

  if (remeasure_at == 0)
    return atomic_load_explicit (&lanes->left, memory_order_relaxed) <= 0;
  return remeasure_at != NEVER && lane_time () >= remeasure_at;
}

/* If SINGLE fails, the plan does not change, but the measurement counts as
 * done.  If a kernel fails its self-test, the measurement remains due, and the
 * next attempt fails again.
 */
static int
measure_now (struct lanes *lanes, const struct single_hash *single)
{
  const bool first = load_remeasure_at (lanes) == 0;
  struct lane_costs costs;
  int err = self_test_all (lanes);

  if (err)
    return err;
  if (lane_costs_measure (lanes->hash, lanes->usable, single, &costs) == 0) {
    struct lane_plan *plan = &lanes->plans[lanes->nr_plans++];

    lane_plan_make (plan, lanes->hash, &costs);
    atomic_store_explicit (&lanes->plan, plan, memory_order_release);
  }
  atomic_store_explicit (&lanes->remeasure_at,
                         first ? lane_time () + REMEASURE_NS : NEVER,
                         memory_order_relaxed);
  return 0;
}

int
lanes_measure (struct lanes *lanes, const struct single_hash *single)
{
  int err = 0;

  if (atomic_flag_test_and_set_explicit (&lanes->measuring,
                                         memory_order_acquire))
    return 0;
  /* Another thread may have measured since the caller checked. */
  if (lanes_measure_is_due (lanes))
    err = measure_now (lanes, single);
  atomic_flag_clear_explicit (&lanes->measuring, memory_order_release);
  return err;
}
