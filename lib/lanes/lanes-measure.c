/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measure the cost of a call of each kernel (a SIMD, multi-buffer
 * implementation of a hash) on this CPU, in the calling thread.
 *
 * The caller's hash of one message and the kernels hash some KiB in turn, in
 * several rounds.  In each round the time of a kernel is divided by the time of
 * the caller's hash.  The cost of the kernel is the median of these ratios over
 * all rounds, multiplied by the median time of the caller's hash.  A change of
 * the CPU's frequency affects both times of a round, and an occasional
 * preemption does not change the median.  Comparing the minimum times was
 * rejected, because they can be from moments with different frequencies: on a
 * loaded CPU of family 6 model 85 such costs were off by more than 10 % three
 * times as often.
 *
 * Each call hashes enough bytes that the overhead of a call does not matter,
 * and is preceded by a warm-up call.  On a CPU of family 25 model 17, where
 * avx512sha-x4 is a third faster than other kernels, 18 of 150 processes
 * selected another kernel when the calls hashed half as many bytes without a
 * warm-up.  With the code as it is, 2 processes did so in one series of runs,
 * and 7 in another.  All lanes of all candidates hash the same bytes, which are
 * in the cache.
 *
 * A kernel can be a hundred times slower than expected: one example is a kernel
 * that mixes AVX-512 with the SHA instructions, on Emerald Rapids.  So each
 * kernel is first probed with very little data, and excluded if it is
 * MAX_SLOWDOWN times slower than the caller's hash.
 */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/util.h"
#include "lanes/lanes.h"

#define SINGLE_BYTES 8192       /* bytes in a call of the caller's hash */
#define CALL_BYTES 32768        /* bytes in a call of a kernel, in all lanes
                                 * together */
#define CALL_BLOCKS 32          /* minimum number of message blocks of each
                                 * lane in a call */
#define PROBE_BLOCKS 2
#define ROUNDS 5
#define MAX_SLOWDOWN 20         /* a kernel is excluded if it takes this many
                                 * times as long as the caller's hash */

/* A hash to measure: either SINGLE or KERNEL is set. */
struct candidate {
  const struct single_hash *single;
  const struct lane_kernel *kernel;
  size_t blocks;                /* message blocks of each lane in a call */
  double ns[ROUNDS];            /* time for one message block of each lane */
  uint64_t *cost;               /* output: the measured cost, picoseconds */
};

struct candidates {
  const struct lane_hash *hash;
  size_t count;                 /* the first is the caller's hash */
  struct candidate candidate[LANE_MAX_KERNELS + 1];
};

uint64_t
lane_time (void)
{
  return clock_ns ();
}

/* Let C hash BLOCKS message blocks in each lane.  Set *NS to the time for one
 * message block of each lane, in nanoseconds; it is always more than 0.
 */
static int
time_call (const struct lane_hash *hash, const struct candidate *c,
           size_t blocks, double *ns)
{
  static const unsigned char message[CALL_BYTES];
  const unsigned char *data[LANES_MAX];
  union lane_state state;
  uint64_t start;
  size_t i;
  int err = 0;

  for (i = 0; i < LANES_MAX; i++)
    data[i] = message;
  memset (&state, 0, sizeof state);
  start = lane_time ();
  if (c->single)
    err = c->single->update (c->single->opaque, message, blocks * hash->block);
  else
    c->kernel->compress (&state, data, blocks);
  *ns = (double) (lane_time () - start) / blocks;
  if (*ns <= 0)
    *ns = 1.0 / blocks;
  return err;
}

/* Set *TOO_SLOW if C is so slow, in each of two attempts, that it is not worth
 * measuring.
 */
static int
probe (const struct lane_hash *hash, double single_ns,
       const struct candidate *c, bool *too_slow)
{
  double ns;
  int i, err;

  *too_slow = true;
  for (i = 0; i < 2 && *too_slow; i++) {
    err = time_call (hash, c, PROBE_BLOCKS, &ns);
    if (err)
      return err;
    *too_slow = ns > MAX_SLOWDOWN * single_ns * c->kernel->lanes;
  }
  return 0;
}

/* Time a call of C after a short warm-up call, so that caches and branch
 * predictors are as in a long series of calls of C.
 */
static int
time_warm_call (const struct lane_hash *hash, const struct candidate *c,
                double *ns)
{
  int err = time_call (hash, c, PROBE_BLOCKS, ns);

  return err ? err : time_call (hash, c, c->blocks, ns);
}

static int
add_kernels (struct candidates *all, unsigned usable, double single_ns,
             struct lane_costs *costs)
{
  const struct lane_hash *hash = all->hash;
  size_t i;
  int err;

  for (i = 0; hash->kernels[i]; i++) {
    struct candidate c = {
      .kernel = hash->kernels[i], .cost = &costs->call[i]
    };
    bool too_slow;

    if (!(usable & 1u << i))
      continue;
    err = probe (hash, single_ns, &c, &too_slow);
    if (err)
      return err;
    if (too_slow)
      continue;
    c.blocks = MAX (CALL_BYTES / (hash->block * c.kernel->lanes), CALL_BLOCKS);
    all->candidate[all->count++] = c;
  }
  return 0;
}

static int
compare (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static double
median (double values[ROUNDS])
{
  qsort (values, ROUNDS, sizeof *values, compare);
  return values[ROUNDS / 2];
}

static void
store_costs (struct candidates *all)
{
  const struct candidate *single = &all->candidate[0];
  double values[ROUNDS], single_ns;
  size_t i, round;

  memcpy (values, single->ns, sizeof values);
  single_ns = median (values);
  for (i = 0; i < all->count; i++) {
    const struct candidate *c = &all->candidate[i];
    double cost;

    for (round = 0; round < ROUNDS; round++)
      values[round] = c->ns[round] / single->ns[round];
    cost = median (values) * single_ns * 1000 + 0.5;
    /* A cost of 0 would mean that the kernel is not used.  Costs in a plan must
     * be below 2^32.
     */
    *c->cost = cost < 1 ? 1 : cost > UINT32_MAX ? UINT32_MAX : cost;
  }
}

int
lane_costs_measure (const struct lane_hash *hash, unsigned usable,
                    const struct single_hash *single,
                    struct lane_costs *costs)
{
  struct candidates all = {
    .hash = hash,
    .count = 1,
    .candidate = {
      {
        .single = single, .blocks = SINGLE_BYTES / hash->block,
        .cost = &costs->single
      }
    },
  };
  double ns;
  size_t i, round;
  int err = 0;

  memset (costs, 0, sizeof *costs);
  /* Time the caller's hash twice, because the caches are cold in the first
   * call.
   */
  for (i = 0; i < 2 && err == 0; i++)
    err = time_call (hash, &all.candidate[0], all.candidate[0].blocks, &ns);
  if (err == 0)
    err = add_kernels (&all, usable, ns, costs);
  for (round = 0; round < ROUNDS; round++)
    for (i = 0; i < all.count && err == 0; i++) {
      struct candidate *c = &all.candidate[i];

      err = time_warm_call (hash, c, &c->ns[round]);
    }
  if (err == 0)
    store_costs (&all);
  return err;
}
