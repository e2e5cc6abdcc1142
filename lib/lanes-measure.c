/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a call of each kernel costs on this CPU, measured, in the calling
 * thread.
 *
 * Each kernel, and the caller's hash of one message, hashes some KiB in turn,
 * several times, and the shortest time counts: whoever was preempted looks
 * slow, nobody looks fast.  All get work enough that what a call costs beside
 * it does not matter: less would make wide kernels look bad.  That it is the
 * same bytes in all lanes, and that they are in the cache, is the same for all.
 *
 * A kernel can be a hundred times slower than it should, such as one that mixes
 * AVX-512 with the instructions for SHA on Emerald Rapids.  It is tried with
 * very little first, and left out.
 */

#include <config.h>

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "lanes-measure.h"

#define CALL_BYTES 8192         /* of a call, all lanes together ... */
#define CALL_BLOCKS 16          /* ... but at least so many of each */
#define PROBE_BLOCKS 2
#define MIN_ROUNDS 3
#define MAX_ROUNDS 6
#define BETTER 95               /* percent of the least time before */
#define HOPELESS 20             /* times as slow as the caller's hash */

/* What takes turns: ONE or KERNEL is NULL. */
struct candidate {
  const struct lane_one *one;
  const struct lane_kernel *kernel;
  size_t blocks;                /* of each lane, in a call */
  uint64_t least;               /* nanoseconds of a call; 0: not yet */
  uint64_t *cost;               /* where the result goes */
};

struct candidates {
  const struct lane_hash *hash;
  size_t count;                 /* the first is the caller's hash */
  struct candidate candidate[LANE_MAX_KERNELS + 1];
};

static uint64_t
now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Nanoseconds that C needs for BLOCKS message blocks a lane, at least 1. */
static int
time_call (const struct lane_hash *hash, const struct candidate *c,
           size_t blocks, uint64_t *ns)
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
  start = now ();
  if (c->one)
    err = c->one->update (c->one->opaque, message, blocks * hash->block);
  else
    c->kernel->compress (&state, data, blocks);
  *ns = now () - start;
  if (*ns == 0)
    *ns = 1;
  return err;
}

/* Is C, in two attempts, so slow that it is not worth a round? */
static int
probe (const struct lane_hash *hash, const struct candidate *one,
       const struct candidate *c, bool *hopeless)
{
  const uint64_t blocks = PROBE_BLOCKS * c->kernel->lanes;
  uint64_t ns;
  int i, err;

  *hopeless = true;
  for (i = 0; i < 2 && *hopeless; i++) {
    err = time_call (hash, c, PROBE_BLOCKS, &ns);
    if (err)
      return err;
    *hopeless = ns * one->blocks > HOPELESS * one->least * blocks;
  }
  return 0;
}

/* One call of each.  *BETTER_FOUND: one of them was clearly faster than before,
 * or has not been measured before.
 */
static int
one_round (struct candidates *all, bool *better_found)
{
  uint64_t ns;
  size_t i;
  int err;

  *better_found = false;
  for (i = 0; i < all->count; i++) {
    struct candidate *c = &all->candidate[i];

    err = time_call (all->hash, c, c->blocks, &ns);
    if (err)
      return err;
    if (c->least == 0 || ns * 100 < c->least * BETTER)
      *better_found = true;
    if (c->least == 0 || ns < c->least)
      c->least = ns;
  }
  return 0;
}

static int
add_kernels (struct candidates *all, unsigned usable, struct lane_costs *costs)
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
    err = probe (hash, &all->candidate[0], &c, &hopeless);
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

int
lane_costs_measure (const struct lane_hash *hash, unsigned usable,
                    const struct lane_one *one, struct lane_costs *costs)
{
  struct candidates all = {
    .hash = hash,
    .count = 1,
    .candidate = {
      { .one = one, .blocks = CALL_BYTES / hash->block, .cost = &costs->one }
    },
  };
  bool better_found = true;
  int err = 0;
  size_t i;

  memset (costs, 0, sizeof *costs);
  /* Twice: the first time it was not in any cache. */
  for (i = 0; i < 2 && err == 0; i++)
    err = one_round (&all, &better_found);
  if (err == 0)
    err = add_kernels (&all, usable, costs);
  all.candidate[0].least = 0;   /* nobody has more turns than others */
  for (i = 0; err == 0 && i < MAX_ROUNDS &&
              (i < MIN_ROUNDS || better_found); i++)
    err = one_round (&all, &better_found);
  if (err)
    return err;
  for (i = 0; i < all.count; i++) {
    struct candidate *c = &all.candidate[i];

    *c->cost = c->least * 1000 / c->blocks;
  }
  return 0;
}
