/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measure the cost of a call of each kernel on this CPU, in the calling thread.
 *
 * The caller's hash of one message and the kernels hash some KiB in turn, in
 * several rounds.  The cost of a kernel is its time relative to that of the
 * caller's hash in the same round, the median over all rounds: a change of the
 * CPU's frequency affects both, and a preemption now and then does not move the
 * median.  The minimum of each was rejected, since it compares times at
 * different frequencies: with other load on family 6 model 85 it was off by
 * more than 10 % three times as often.
 *
 * Each call hashes enough that the overhead of a call does not matter.  With
 * half as much, and not warm, 18 of 150 processes on family 25 model 17
 * selected another kernel than avx512sha-x4, which is a third faster there; as
 * it is now, 2 and 7.  All lanes hash the same bytes, which are in the cache,
 * for all candidates alike.
 *
 * A kernel can be a hundred times slower than expected, such as one that mixes
 * AVX-512 with the SHA instructions on Emerald Rapids.  A probe with very
 * little data rules it out first.
 */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lanes/lanes-measure.h"

#define ONE_BYTES 8192          /* of a call of the caller's hash */
#define CALL_BYTES 32768        /* of a kernel, all lanes together ... */
#define CALL_BLOCKS 32          /* ... but at least so many of each */
#define PROBE_BLOCKS 2
#define ROUNDS 5
#define HOPELESS 20             /* times as slow as the caller's hash */

/* What is measured: ONE or KERNEL is NULL. */
struct candidate {
  const struct lane_one *one;
  const struct lane_kernel *kernel;
  size_t blocks;                /* of each lane, in a call */
  double ns[ROUNDS];            /* for a message block of each lane */
  uint64_t *cost;               /* where the result goes */
};

struct candidates {
  const struct lane_hash *hash;
  size_t count;                 /* the first is the caller's hash */
  struct candidate candidate[LANE_MAX_KERNELS + 1];
};

uint64_t
lane_time (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Nanoseconds that C needs for a message block of each lane when it hashes
 * BLOCKS of them, more than 0.
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
  if (c->one)
    err = c->one->update (c->one->opaque, message, blocks * hash->block);
  else
    c->kernel->compress (&state, data, blocks);
  *ns = (double) (lane_time () - start) / blocks;
  if (*ns <= 0)
    *ns = 1.0 / blocks;
  return err;
}

/* Is C, in two attempts, so slow that it is not worth a round? */
static int
probe (const struct lane_hash *hash, double one_ns, const struct candidate *c,
       bool *hopeless)
{
  double ns;
  int i, err;

  *hopeless = true;
  for (i = 0; i < 2 && *hopeless; i++) {
    err = time_call (hash, c, PROBE_BLOCKS, &ns);
    if (err)
      return err;
    *hopeless = ns > HOPELESS * one_ns * c->kernel->lanes;
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
add_kernels (struct candidates *all, unsigned usable, double one_ns,
             struct lane_costs *costs)
{
  const struct lane_hash *hash = all->hash;
  size_t i;
  int err;

  for (i = 0; hash->kernels[i]; i++) {
    struct candidate c = {
      .kernel = hash->kernels[i], .cost = &costs->call[i]
    };
    bool hopeless;

    if (!(usable & 1u << i))
      continue;
    err = probe (hash, one_ns, &c, &hopeless);
    if (err)
      return err;
    if (hopeless)
      continue;
    c.blocks = CALL_BYTES / (hash->block * c.kernel->lanes);
    if (c.blocks < CALL_BLOCKS)
      c.blocks = CALL_BLOCKS;
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
  const struct candidate *one = &all->candidate[0];
  double values[ROUNDS], one_ns;
  size_t i, round;

  memcpy (values, one->ns, sizeof values);
  one_ns = median (values);
  for (i = 0; i < all->count; i++) {
    const struct candidate *c = &all->candidate[i];
    double cost;

    for (round = 0; round < ROUNDS; round++)
      values[round] = c->ns[round] / one->ns[round];
    cost = median (values) * one_ns * 1000 + 0.5;
    /* 0 means: do not use; and costs in a plan are below 2^32. */
    *c->cost = cost < 1 ? 1 : cost > UINT32_MAX ? UINT32_MAX : cost;
  }
}

int
lane_costs_measure (const struct lane_hash *hash, unsigned usable,
                    const struct lane_one *one, struct lane_costs *costs)
{
  struct candidates all = {
    .hash = hash,
    .count = 1,
    .candidate = {
      { .one = one, .blocks = ONE_BYTES / hash->block, .cost = &costs->one }
    },
  };
  double ns;
  size_t i, round;
  int err = 0;

  memset (costs, 0, sizeof *costs);
  /* Twice: the first call has cold caches. */
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
