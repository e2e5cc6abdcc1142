/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the queue depth that is found for models of storage, read by a
 * program that hashes, in a time of their own.
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
#define THREADS 2               /* that hash */

struct storage {
  /* How long a read takes that begins at NOW as the DEPTH-th, ns. */
  uint64_t (*latency) (struct storage *storage, uint64_t now, unsigned depth);
  uint64_t base;                /* ns */
  uint64_t free_at;             /* ns: what can do one thing at a time */
  uint64_t until, early;        /* ns: before it, it takes as long */
  uint64_t hash;                /* ns: how long a read is hashed */
  bool cached;                  /* reads are copied, and do not wait */
};

struct result {
  struct depth depth;
  unsigned most;                /* the highest limit, */
  unsigned changes;             /* how often it changed, */
  double mean;                  /* what it was for a read, */
  double rate;                  /* reads a second: all in the second half */
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

/* One of ten is not cached by the server. */
static uint64_t
bimodal (struct storage *storage, uint64_t now, unsigned depth)
{
  (void) now; (void) depth;
  return rand_r (&seed) % 10 == 0 ? storage->base : storage->base / 100;
}

/* Nothing ends for two seconds. */
static uint64_t
stalls (struct storage *storage, uint64_t now, unsigned depth)
{
  (void) depth;
  if (now < storage->until && now + storage->base >= storage->until)
    return storage->base + 2 * SECOND;
  return storage->base;
}

/* Reads wait for each other, as in an HDD. */
static uint64_t
one_by_one (struct storage *storage, uint64_t now, unsigned depth)
{
  (void) depth;
  if (storage->free_at < now)
    storage->free_at = now;
  storage->free_at += storage->base;
  return storage->free_at - now;
}

/* A server on this machine, from which its neighbours take a CPU at times. */
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

/* The same, and each takes 10 ms in addition: a limit of IOPS or bandwidth. */
static uint64_t
limited (struct storage *storage, uint64_t now, unsigned depth)
{
  return one_by_one (storage, now, depth) + 10 * MS;
}

/* EARLY up to some moment, and BASE from then on. */
static uint64_t
becomes_slow (struct storage *storage, uint64_t now, unsigned depth)
{
  (void) depth;
  return now < storage->until ? storage->early : storage->base;
}

/* ---- The program ---- */

struct read {
  enum { NONE, IN_FLIGHT, READY, HASHED } state;
  uint64_t start, read, end;
};

struct program {
  struct storage *storage;
  struct result result;
  struct read reads[MAX];
  unsigned count[4];            /* of them in each state */
};

static void
set_state (struct program *program, struct read *read, int state)
{
  program->count[read->state]--;
  program->count[state]++;
  read->state = state;
}

/* As many reads as the limit are in flight, or hashed, or wait for that. */
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
  uint64_t now = SECOND, end = now + seconds * SECOND; /* no clock is 0 */
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

/* What is there at once is read as before, though the threads are not busy all
 * the time.
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

/* It does not help that hashing takes longer than reading. */
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

/* 20 ms a read: the hash could take 2000 a second. */
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

/* It is found in as few rounds as there can be. */
static void
test_start (void **state)
{
  struct storage storage = {
    .latency = constant, .base = 200 * MS, .hash = MS
  };
  struct result result = run (&storage, 1);

  (void) state;
  assert_int_equal (result.most, MAX);
  assert_true (result.changes <= 3);
}

/* As many reads as are hashed in the time of one. */
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

/* A stall at any moment, also while the depth is looked for. */
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

/* The depth of an HDD stays what it is, or comes back to it. */
static void
test_one_by_one (void **state)
{
  struct storage storage = {
    .latency = one_by_one, .base = 10 * MS, .hash = MS / 10
  };
  struct result result = run (&storage, 200);

  (void) state;
  assert_int_equal (result.depth.limit, START);
  assert_true (result.rate > 0.97 * 100);
  assert_true (result.changes < 100);
}

/* What is noise is not taken for a gain for long. */
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

/* 500 a second of 10 ms are 7 with their own time. */
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

/* The beginning of an image is cached, and the rest is not; or it is moved to
 * other storage.
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
    cmocka_unit_test (test_neighbours),
    cmocka_unit_test (test_limited),
    cmocka_unit_test (test_becomes_slow),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
