/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the queue depth that depth.c selects in a simulation, which has a
 * model of a program that reads and hashes, and models of storage.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "read/depth.h"

#define MS ((uint64_t) 1000000) /* ns */
#define SECOND (1000 * MS)
#define MIB (1024 * 1024)
#define START 2
#define MAX 64
#define THREADS 2               /* threads that hash */

struct storage {
  /* Returns the latency, in ns, of a read that begins at NOW, when DEPTH reads
   * are in flight, including this one.
   */
  uint64_t (*latency) (struct storage *storage, uint64_t now, unsigned depth);
  uint64_t base;                /* latency, ns */
  uint64_t free_at;             /* end of the last read, ns, if reads are
                                 * serialized */
  uint64_t until, early;        /* ns; see stalls, becomes_slow, cached_first */
  uint64_t hash;                /* time to hash the data of a read, ns */
  bool cached;                  /* reads are from the cache, and do not wait */
};

struct result {
  struct depth depth;
  unsigned most;                /* highest limit */
  unsigned changes;             /* number of changes of the limit */
  double mean;                  /* mean limit, over all reads */
  double rate;                  /* reads per second in the second half */
};

static unsigned seed = 1;

static uint64_t
constant (struct storage *storage, uint64_t now, unsigned depth)
{
  (void) now; (void) depth;
  return storage->base;
}

static uint64_t
noisy (struct storage *storage, uint64_t now, unsigned depth)
{
  (void) now; (void) depth;
  return storage->base / 2 + rand_r (&seed) % storage->base;
}

/* The server has the data of nine of ten reads in its cache. */
static uint64_t
bimodal (struct storage *storage, uint64_t now, unsigned depth)
{
  (void) now; (void) depth;
  return rand_r (&seed) % 10 == 0 ? storage->base : storage->base / 100;
}

/* The storage stalls for two seconds: reads in flight at UNTIL take longer. */
static uint64_t
stalls (struct storage *storage, uint64_t now, unsigned depth)
{
  (void) depth;
  if (now < storage->until && now + storage->base >= storage->until)
    return storage->base + 2 * SECOND;
  return storage->base;
}

/* Reads are serialized, as on an HDD. */
static uint64_t
one_by_one (struct storage *storage, uint64_t now, unsigned depth)
{
  (void) depth;
  if (storage->free_at < now)
    storage->free_at = now;
  storage->free_at += storage->base;
  return storage->free_at - now;
}

/* A server on this machine, which other processes preempt at times. */
static uint64_t
neighbours (struct storage *storage, uint64_t now, unsigned depth)
{
  uint64_t base = storage->base, latency;

  storage->base = base / 2 + rand_r (&seed) % base;
  if (rand_r (&seed) % 50 == 0)
    storage->base += rand_r (&seed) % (8 * MS);
  latency = one_by_one (storage, now, depth);
  storage->base = base;
  return latency;
}

/* A limit of IOPS or bandwidth: serialized reads whose replies take 10 ms more,
 * which does not delay the next read.
 */
static uint64_t
limited (struct storage *storage, uint64_t now, unsigned depth)
{
  return one_by_one (storage, now, depth) + 10 * MS;
}

/* The latency is EARLY before UNTIL, and BASE from then on. */
static uint64_t
becomes_slow (struct storage *storage, uint64_t now, unsigned depth)
{
  (void) depth;
  return now < storage->until ? storage->early : storage->base;
}

/* An HDD.  Data that is read before UNTIL is in the page cache. */
static uint64_t
cached_first (struct storage *storage, uint64_t now, unsigned depth)
{
  storage->cached = now < storage->until;
  return storage->cached ? storage->early : one_by_one (storage, now, depth);
}

/* ---- The program ---- */

struct read {
  enum { NONE, IN_FLIGHT, READY, HASHED } state; /* READY: waits to be hashed;
                                                  * HASHED: is being hashed */
  uint64_t start, read, end;
};

struct program {
  struct storage *storage;
  struct result result;
  struct read reads[MAX];
  unsigned count[4];            /* number of reads in each state */
};

static void
set_state (struct program *program, struct read *read, int state)
{
  program->count[read->state]--;
  program->count[state]++;
  read->state = state;
}

/* Start as many reads and as much hashing as the limits allow.  Reads that wait
 * to be hashed or are being hashed count for the limit of reads, too.
 */
static void
start_all (struct program *program, uint64_t now)
{
  struct storage *storage = program->storage;

  for (struct read *read = program->reads; read < program->reads + MAX;
       read++) {
    if (read->state == NONE &&
        MAX - program->count[NONE] < program->result.depth.limit) {
      set_state (program, read, IN_FLIGHT);
      read->start = now;
      read->end = now + storage->latency (storage, now,
                                          program->count[IN_FLIGHT]);
    }
    if (read->state == READY && program->count[HASHED] < THREADS) {
      set_state (program, read, HASHED);
      read->end = now + storage->hash;
    }
  }
}

static struct read *
next_event (struct program *program)
{
  struct read *next = NULL;

  for (struct read *read = program->reads; read < program->reads + MAX;
       read++)
    if ((read->state == IN_FLIGHT || read->state == HASHED) &&
        (!next || read->end < next->end))
      next = read;
  assert_non_null (next);
  return next;
}

static void
was_hashed (struct program *program, const struct read *read)
{
  struct storage *storage = program->storage;
  struct result *result = &program->result;
  unsigned limit = result->depth.limit;

  depth_read_done (&result->depth, &(struct depth_read) {
    .start = read->start, .end = read->end, .len = MIB,
    .busy = storage->hash,
    .waited = storage->cached ? 0 : read->read - read->start,
  });
  if (result->depth.limit > result->most)
    result->most = result->depth.limit;
  result->changes += result->depth.limit != limit;
  assert_in_range (result->depth.limit, START, MAX);
}

static struct result
run (struct storage *storage, uint64_t seconds)
{
  static struct program program;
  /* NOW does not start at 0, which depth.c uses for "not set". */
  uint64_t now = SECOND, end = now + seconds * SECOND;
  uint64_t middle = (now + end) / 2;
  unsigned hashed = 0, reads = 0;

  program = (struct program) { .storage = storage, .count = { MAX } };
  depth_init (&program.result.depth, START, MAX, THREADS);
  while (now < end) {
    struct read *read;

    start_all (&program, now);
    read = next_event (&program);
    now = read->end;
    if (read->state == IN_FLIGHT) {
      read->read = now;
      set_state (&program, read, READY);
      continue;
    }
    program.result.mean += program.result.depth.limit;
    reads++;
    was_hashed (&program, read);
    hashed += now > middle;
    set_state (&program, read, NONE);
  }
  program.result.rate = hashed * (double) SECOND / (end - middle);
  program.result.mean /= reads;
  print_message ("limit %u, most %u, mean %.1f, %u changes, "
                 "%.0f reads a second\n",
                 program.result.depth.limit, program.result.most,
                 program.result.mean, program.result.changes,
                 program.result.rate);
  return program.result;
}

/* ---- Tests ---- */

/* The limit is not raised for cached data, although the threads are sometimes
 * idle.
 */
static void
test_cached (void **state)
{
  struct storage storage = {
    .latency = noisy, .base = MS, .hash = MS, .cached = true
  };
  struct result result = run (&storage, 10);

  (void) state;
  assert_int_equal (result.most, START);
}

/* The limit is not raised much if hashing takes longer than reading. */
static void
test_slow_hash (void **state)
{
  struct storage storage = {
    .latency = noisy, .base = MS, .hash = 20 * MS
  };
  struct result result = run (&storage, 20);

  (void) state;
  assert_true (result.most <= 4 * START);
  assert_true (result.rate > 0.95 * THREADS / 0.020);
}

/* A read takes 20 ms, and 2000 reads can be hashed per second, so at least 40
 * must be in flight.  The limit grows to MAX.
 */
static void
test_constant (void **state)
{
  struct storage storage = {
    .latency = constant, .base = 20 * MS, .hash = MS
  };
  struct result result = run (&storage, 10);

  (void) state;
  assert_int_equal (result.depth.limit, MAX);
  assert_true (result.rate > 0.95 * THREADS * 1000);
}

/* If a read takes long, the maximum depth is reached in two changes of the
 * limit.
 */
static void
test_start (void **state)
{
  struct storage storage = {
    .latency = constant, .base = 200 * MS, .hash = MS
  };
  struct result result = run (&storage, 1);

  (void) state;
  assert_int_equal (result.most, MAX);
  assert_int_equal (result.changes, 2);
}

/* Reading becomes as fast as hashing, with few changes of the limit. */
static void
test_limited_by_hash (void **state)
{
  struct storage storage = {
    .latency = noisy, .base = 5 * MS, .hash = MS
  };
  struct result result = run (&storage, 60);

  (void) state;
  assert_true (result.rate > 0.95 * THREADS * 1000);
  assert_true (result.changes < 100);
}

/* The mean latency is about 5.5 ms.  The limit is raised, although nine of ten
 * reads take only 0.5 ms.
 */
static void
test_bimodal (void **state)
{
  struct storage storage = {
    .latency = bimodal, .base = 50 * MS, .hash = MS / 10
  };
  struct result result = run (&storage, 20);

  (void) state;
  assert_true (result.depth.limit >= MAX / 2);
  assert_true (result.rate > 0.8 * MAX / 0.0055);
}

/* After a stall at any moment, also during a probe, the limit is high again. */
static void
test_stall (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < 100; i++) {
    struct storage storage = {
      .latency = stalls, .base = 20 * MS, .hash = MS,
      .until = SECOND + i * 21 * MS
    };
    struct result result = run (&storage, 10);

    assert_true (result.depth.limit >= MAX / 2);
    assert_true (result.rate > 0.7 * THREADS * 1000);
  }
}

/* For an HDD the limit stays at its minimum, or returns to it. */
static void
test_one_by_one (void **state)
{
  struct storage storage = {
    .latency = one_by_one, .base = 10 * MS, .hash = MS / 10
  };
  struct result result = run (&storage, 200);

  (void) state;
  assert_true (result.most <= 4 * START);
  assert_int_equal (result.depth.limit, START);
  assert_true (result.rate > 0.97 * 100);
  assert_true (result.changes < 100);
}

/* The same, if the first round ends before the HDD is read, and reads do not
 * start together any more.
 */
static void
test_cached_first (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < 20; i++) {
    struct storage storage = {
      .latency = cached_first, .base = 7 * MS, .hash = MS / 10,
      .until = SECOND + 100 * MS + i * MS, .early = MS / 10
    };

    assert_true (run (&storage, 10).most <= 4 * START);
  }
}

/* Report a read that ends INTERVAL after the last one, and took LATENCY. */
static void
report (struct depth *depth, uint64_t *now, uint64_t interval,
        uint64_t latency)
{
  *now += interval;
  depth_read_done (depth, &(struct depth_read) {
    .start = *now - latency, .end = *now, .len = MIB, .waited = latency,
  });
}

/* The first probe is larger if several reads, which take longer than the
 * minimum of a round, end together.  They can end in any order.
 */
static void
test_first_round (void **state)
{
  struct depth depth;
  uint64_t now = SECOND;

  (void) state;
  depth_init (&depth, START, MAX, THREADS);
  report (&depth, &now, 0, 100 * MS);
  assert_int_equal (depth.limit, START);
  report (&depth, &now, MS, 102 * MS);
  assert_int_equal (depth.limit, 16 * START);

  depth_init (&depth, START, MAX, THREADS);
  report (&depth, &now, 0, 9 * MS);
  report (&depth, &now, 3 * MS / 2, 19 * MS / 2);
  assert_int_equal (depth.limit, 4 * START);

  depth_init (&depth, 1, MAX, 1);
  report (&depth, &now, 0, 100 * MS);
  assert_int_equal (depth.limit, 4);
}

/* Reads that share the storage end in quick succession after a probe, because
 * fewer follow them.  They do not count for the rate at the lower limit.
 */
static void
test_drain (void **state)
{
  struct depth depth;
  uint64_t now = SECOND;
  unsigned raised;
  double best;

  (void) state;
  depth_init (&depth, START, MAX, THREADS);
  while (depth.limit == START)
    report (&depth, &now, 10 * MS, 20 * MS);
  raised = depth.limit;
  while (depth.limit == raised)
    report (&depth, &now, 10 * MS, raised * 10 * MS);
  assert_true (depth.limit < raised);
  best = depth.best;
  for (unsigned i = depth.limit; i < raised; i++)
    report (&depth, &now, 5 * MS, raised * 5 * MS);
  for (unsigned i = 0; i < 2 * depth.limit; i++)
    report (&depth, &now, 10 * MS, depth.limit * 10 * MS);
  assert_true (depth.best < 1.05 * best);
}

/* Delays by other processes do not keep the limit high. */
static void
test_neighbours (void **state)
{
  double mean = 0;
  unsigned i;

  (void) state;
  for (i = 0; i < 10; i++) {
    struct storage storage = {
      .latency = neighbours, .base = MS / 2, .hash = MS / 3
    };

    mean += run (&storage, 20).mean / 10;
  }
  assert_true (mean < 3 * START);
}

/* For 500 reads per second, each of which takes 12 ms, and is then hashed, a
 * depth of about 7 is needed.
 */
static void
test_limited (void **state)
{
  struct storage storage = {
    .latency = limited, .base = 2 * MS, .hash = MS / 10
  };
  struct result result = run (&storage, 60);

  (void) state;
  assert_in_range (result.depth.limit, 6, 12);
  assert_true (result.rate > 0.95 * 500);
  assert_true (result.changes < 100);
}

/* The beginning of an image is cached, and the rest is not; or the image is
 * moved to slower storage.
 */
static void
test_becomes_slow (void **state)
{
  static const uint64_t early[] = { MS / 10, 2 * MS };
  unsigned i;

  (void) state;
  for (i = 0; i < 2; i++) {
    struct storage storage = {
      .latency = becomes_slow, .base = 20 * MS, .hash = MS,
      .until = 6 * SECOND, .early = early[i]
    };
    struct result result = run (&storage, 20);

    assert_true (result.depth.limit >= MAX / 2);
    assert_true (result.rate > 0.7 * THREADS * 1000);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_cached),
    cmocka_unit_test (test_slow_hash),
    cmocka_unit_test (test_constant),
    cmocka_unit_test (test_start),
    cmocka_unit_test (test_limited_by_hash),
    cmocka_unit_test (test_bimodal),
    cmocka_unit_test (test_stall),
    cmocka_unit_test (test_one_by_one),
    cmocka_unit_test (test_cached_first),
    cmocka_unit_test (test_first_round),
    cmocka_unit_test (test_drain),
    cmocka_unit_test (test_neighbours),
    cmocka_unit_test (test_limited),
    cmocka_unit_test (test_becomes_slow),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
