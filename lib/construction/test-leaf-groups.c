/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: batches that are hashed in one group.  An error of a group is
 * reported to each batch that has blocks in it, and to no other batch.  If a
 * batch waits for other batches in vain, because they do not fill the lanes of
 * a kernel, the next batches do not wait.
 *
 * Linker wrappers for functions that leaf.c calls set the number of CPUs and
 * the time, make one block fail, and hold a block until other threads wait, so
 * the test does not depend on timing.
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/test-time64.h"
#include "construction/leaf.h"
#include "digest/digest.h"
#include "lanes/lanes.h"

#define BLOCK 64
#define MAX_BLOCKS 40

long __real_sysconf (int name);
long __wrap_sysconf (int name);
int __real_digest_final (struct digest_ctx *ctx, unsigned char *md);
int __wrap_digest_final (struct digest_ctx *ctx, unsigned char *md);
struct digest_ctx *__real_digest_ctx_create (const struct digest *digest);
struct digest_ctx *__wrap_digest_ctx_create (const struct digest *digest);
int __real_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_timedwait (pthread_cond_t *cond, pthread_mutex_t *lock,
                                   const struct timespec *until)
  WRAPS_TIME64 (pthread_cond_timedwait);
int __wrap_clock_gettime (clockid_t clock, struct timespec *t)
  WRAPS_TIME64 (clock_gettime);

static long cpus;
static bool no_contexts;
static unsigned char *_Atomic slow_md[3], *_Atomic bad_md;
static atomic_int hashing, waiting, too_many;

long
__wrap_sysconf (int name)
{
  return name == _SC_NPROCESSORS_ONLN ? cpus : __real_sysconf (name);
}

int
__wrap_digest_final (struct digest_ctx *ctx, unsigned char *md)
{
  if (atomic_fetch_add (&hashing, 1) >= cpus)
    atomic_store (&too_many, 1);
  for (size_t i = 0; i < 3; i++)
    while (atomic_load (&slow_md[i]) == md)
      usleep (100);
  atomic_fetch_sub (&hashing, 1);
  return atomic_load (&bad_md) == md ? EIO : __real_digest_final (ctx, md);
}

struct digest_ctx *
__wrap_digest_ctx_create (const struct digest *digest)
{
  if (!no_contexts)
    return __real_digest_ctx_create (digest);
  errno = ENOMEM;
  return NULL;
}

int
__wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock)
{
  atomic_fetch_add (&waiting, 1);
  return __real_pthread_cond_wait (cond, lock);
}

/* ---- Errors ---- */

static struct digest *digest;
static struct leaf_engine *engine;

struct batch {
  pthread_t thread;
  size_t count;
  unsigned char data[MAX_BLOCKS][BLOCK], md[MAX_BLOCKS][64];
  int result;
};

static void *
run (void *opaque)
{
  struct batch *batch = opaque;
  struct leaf_block blocks[MAX_BLOCKS];

  for (size_t i = 0; i < batch->count; i++)
    blocks[i] = (struct leaf_block) {
      .data = batch->data[i], .len = BLOCK, .md = batch->md[i]
    };
  batch->result = leaf_batch (engine, blocks, batch->count);
  return NULL;
}

static void
fill (struct batch *batch, size_t count)
{
  batch->count = count;
  memset (batch->data, 7, sizeof batch->data);
  memset (batch->md, 0, sizeof batch->md);
  for (size_t i = 0; i < count; i++)
    batch->data[i][0] = i;
}

static void
begin (struct batch *batch, size_t count)
{
  fill (batch, count);
  assert_int_equal (pthread_create (&batch->thread, NULL, run, batch), 0);
}

static void
wait_for (atomic_int *n, int value)
{
  while (atomic_load (n) < value)
    usleep (100);
}

static void
end (struct batch *batch, int expected)
{
  struct digest_ctx *ctx = digest_ctx_create (digest);
  unsigned char md[64];

  pthread_join (batch->thread, NULL);
  assert_int_equal (batch->result, expected);
  for (size_t i = 0; i < batch->count && expected == 0; i++) {
    assert_int_equal (digest_init (ctx), 0);
    assert_int_equal (digest_update (ctx, batch->data[i], BLOCK), 0);
    assert_int_equal (__real_digest_final (ctx, md), 0);
    assert_memory_equal (batch->md[i], md, digest_size (digest));
  }
  digest_ctx_free (ctx);
}

static void
create (const char *name, long for_cpus)
{
  cpus = for_cpus;
  slow_md[0] = slow_md[1] = slow_md[2] = bad_md = NULL;
  hashing = waiting = too_many = 0;
  digest = digest_create (name);
  engine = leaf_engine_create (digest, BLOCK);
  assert_non_null (engine);
}

static void
destroy (void)
{
  leaf_engine_free (engine);
  digest_free (digest);
}

/* While the only CPU hashes a block, three batches are queued.  The block at
 * index BLOCK (the parameter) of batch OF cannot be hashed; if OF is 3, all
 * blocks can be hashed.  FIRST, SECOND and THIRD are the expected results of
 * the batches.  The first group has 20 blocks of the first batch and 12 of the
 * second batch; the second group has 8 blocks of the second batch and 24 of the
 * third batch; the third group has 6 blocks of the third batch.
 */
static void
fail_in_group (size_t of, size_t block, int first, int second, int third)
{
  static struct batch slow, batch[3];
  static const size_t count[3] = { 20, 20, 30 };

  create ("md5", 1);
  slow_md[0] = slow.md[0];
  begin (&slow, 1);
  wait_for (&hashing, 1);
  for (size_t i = 0; i < 3; i++) {
    begin (&batch[i], count[i]);
    wait_for (&waiting, i + 1);
  }
  bad_md = of < 3 ? batch[of].md[block] : NULL;
  slow_md[0] = NULL;
  end (&slow, 0);
  end (&batch[0], first);
  end (&batch[1], second);
  end (&batch[2], third);
  assert_int_equal (too_many, 0);
  destroy ();
}

static void
test_errors (void **state)
{
  (void) state;
  fail_in_group (3, 0, 0, 0, 0);
  fail_in_group (0, 0, EIO, EIO, 0);
  fail_in_group (1, 11, EIO, EIO, 0);
  fail_in_group (1, 12, 0, EIO, EIO);
  fail_in_group (2, 23, 0, EIO, EIO);
  fail_in_group (2, 29, 0, 0, EIO);
}

/* There is no memory for the state of a second hashing thread. */
static void
test_no_memory (void **state)
{
  static struct batch slow, other;

  (void) state;
  create ("md5", 2);
  slow_md[0] = slow.md[0];
  begin (&slow, 1);
  wait_for (&hashing, 1);
  no_contexts = true;
  begin (&other, 3);
  pthread_join (other.thread, NULL);
  no_contexts = false;
  assert_int_equal (other.result, ENOMEM);
  begin (&other, 3);
  end (&other, 0);
  slow_md[0] = NULL;
  end (&slow, 0);
  destroy ();
}

static void
test_zeros (void **state)
{
  unsigned char md[64];

  (void) state;
  create ("md5", 1);
  assert_int_equal (leaf_hash_zeros (engine, BLOCK, md), 0);
  bad_md = md;
  assert_int_equal (leaf_hash_zeros (engine, BLOCK, md), EIO);
  destroy ();
}

/* The thread of the oldest batch in the queue is already hashing other blocks
 * of this batch.  So the thread of the next batch is woken when a CPU becomes
 * free.
 */
static void
test_wake_next (void **state)
{
  static struct batch first, second, large, small;

  (void) state;
  create ("md5", 2);
  slow_md[0] = first.md[0];
  begin (&first, 1);
  wait_for (&hashing, 1);
  slow_md[1] = second.md[0];
  begin (&second, 1);
  wait_for (&hashing, 2);
  slow_md[2] = large.md[0];
  begin (&large, LEAF_GROUP + 1);
  wait_for (&waiting, 1);
  begin (&small, 1);
  wait_for (&waiting, 2);
  slow_md[0] = NULL;
  end (&first, 0);
  wait_for (&hashing, 2);
  slow_md[1] = NULL;
  pthread_join (second.thread, NULL);
  pthread_join (small.thread, NULL);
  assert_int_equal (second.result | small.result, 0);
  slow_md[2] = NULL;
  end (&large, 0);
  assert_int_equal (too_many, 0);
  destroy ();
}

/* While the threads of the other batches hash, a thread with a free CPU hashes
 * its own blocks only, and waits for nobody.  Its batch leaves the queue from
 * any place in it, and the batches before and after it stay there.
 */
static void
test_own_blocks (void **state)
{
  static struct batch first, second, small;

  (void) state;
  alarm (300);
  create ("md5", 3);
  slow_md[0] = first.md[0];
  slow_md[1] = first.md[LEAF_GROUP];
  begin (&first, LEAF_GROUP + 1);
  wait_for (&hashing, 1);
  fill (&small, 3);
  run (&small);                 /* it is the last in the queue */
  assert_int_equal (small.result, 0);
  slow_md[2] = second.md[0];
  begin (&second, LEAF_GROUP + 1);
  wait_for (&hashing, 2);
  slow_md[0] = slow_md[1] = NULL;
  end (&first, 0);              /* it was the first */
  begin (&small, 3);
  end (&small, 0);
  assert_int_equal (waiting, 0);
  slow_md[2] = NULL;
  end (&second, 0);
  destroy ();
  alarm (0);
}

/* ---- Waiting for others ---- */

static unsigned waits;          /* number of waits that timed out */
static bool spurious;           /* the next wait has a spurious wakeup */
static atomic_bool hold;        /* the next wait lasts while HELD is set */
static atomic_bool held;

int
__wrap_pthread_cond_timedwait (pthread_cond_t *cond, pthread_mutex_t *lock,
                               const struct timespec *until)
{
  (void) cond;
  assert_int_equal (until->tv_sec, 2);
  assert_int_equal (until->tv_nsec, 999999);
  if (spurious) {
    spurious = false;
    return 0;
  }
  if (atomic_exchange (&hold, false)) {
    atomic_fetch_add (&waiting, 1);
    pthread_mutex_unlock (lock);
    while (atomic_load (&held))
      usleep (100);
    pthread_mutex_lock (lock);
    return 0;
  }
  waits++;
  return ETIMEDOUT;
}

int
__wrap_clock_gettime (clockid_t clock, struct timespec *t)
{
  assert_int_equal (clock, CLOCK_MONOTONIC);
  *t = (struct timespec) { .tv_sec = 1, .tv_nsec = 999999999 };
  return 0;
}

static unsigned
waits_of (size_t batches, size_t count)
{
  static struct batch batch;

  waits = 0;
  batch.count = count;
  memset (batch.data, 1, sizeof batch.data);
  for (size_t i = 0; i < batches; i++) {
    run (&batch);
    assert_int_equal (batch.result, 0);
  }
  return waits;
}

/* No other batches arrive.  After each wait that times out, the next 1, 3, 7
 * ... 1023 batches do not wait.
 */
static void
test_gather (void **state)
{
  struct lanes *lanes = lanes_create ("sha256");
  size_t enough;

  (void) state;
#ifndef HAVE_PTHREAD_CONDATTR_SETCLOCK
  skip ();
#endif
  if (!lanes) {
    print_message ("SKIP: no lanes to fill\n");
    skip ();
  }
  enough = lanes_full_group (lanes);
  lanes_free (lanes);
  create ("sha256", 2);
  assert_int_equal (waits_of (100, 1), 0);
  leaf_enable_gather (engine);
  assert_int_equal (waits_of (1, 1), 1);
  assert_int_equal (waits_of (1, 1), 0);
  spurious = true;
  assert_int_equal (waits_of (1, 1), 1);
  assert_false (spurious);
  assert_int_equal (waits_of (3, 1), 0);
  assert_int_equal (waits_of (1 + 7 + 1 + 15 + 1 + 31, 1), 3);
  assert_int_equal (waits_of (1 + 63 + 1 + 127 + 1 + 255 + 1 + 511, 1), 4);
  assert_int_equal (waits_of (4 * (1 + 1023), 1), 4);
  destroy ();

  create ("sha256", 2);
  leaf_enable_gather (engine);
  assert_int_equal (waits_of (100, LEAF_GROUP), 0);
  assert_int_equal (waits_of (1, 1), 1);
  destroy ();

  /* A batch with one block less than a full group waits, too. */
  if (enough > 1) {
    create ("sha256", 2);
    leaf_enable_gather (engine);
    assert_int_equal (waits_of (2, enough - 1), 1);
    destroy ();
  }

  create ("md5", 2);
  leaf_enable_gather (engine);
  assert_int_equal (waits_of (10, 1), 0);
  destroy ();
}

/* Start a batch in a thread of its own, where it waits until HELD is cleared.
 */
static void
begin_waiting (struct batch *batch)
{
  waiting = 0;
  hold = held = true;
  begin (batch, 1);
  wait_for (&waiting, 1);
}

/* Force a kernel whose full group has more than three blocks.  Returns the size
 * of that group, or 0 if this CPU has no such kernel.
 */
static size_t
force_wide_lanes (void)
{
  static const char *const kernels[] = { "avx512", "avx2" };

  for (size_t i = 0; i < 2; i++) {
    struct lanes *lanes;
    size_t enough = 0;

    setenv ("BLKHASH_CPU", kernels[i], 1);
    lanes = lanes_create ("sha256");
    if (lanes)
      enough = lanes_full_group (lanes);
    lanes_free (lanes);
    if (enough > 3)
      return enough;
  }
  unsetenv ("BLKHASH_CPU");
  return 0;
}

/* A few batches arrive, but too few to fill the lanes.  If the wait of one
 * batch times out, and its thread then hashes another batch as well, this does
 * not reset the backoff.  Otherwise a client with four requests in flight would
 * wait for each of them.
 */
static void
test_taken (void **state)
{
  static struct batch first;
  size_t enough;

  (void) state;
#ifndef HAVE_PTHREAD_CONDATTR_SETCLOCK
  skip ();
#endif
  enough = force_wide_lanes ();
  if (enough == 0) {
    print_message ("SKIP: no wide lanes\n");
    skip ();
  }
  create ("sha256", 2);
  leaf_enable_gather (engine);
  begin_waiting (&first);
  assert_int_equal (waits_of (1, 1), 1); /* after the wait, this thread hashes
                                          * both batches */
  held = false;
  end (&first, 0);
  assert_int_equal (waits_of (1, 1), 0);
  assert_int_equal (waits_of (1, 1), 1);
  assert_int_equal (waits_of (3, 1), 0);
  assert_int_equal (waits_of (1, 1), 1);

  /* If the two batches fill the lanes, batches wait again. */
  assert_int_equal (waits_of (7, 1), 0);
  begin_waiting (&first);
  assert_int_equal (waits_of (1, enough - 1), 0);
  held = false;
  end (&first, 0);
  assert_int_equal (waits_of (1, 1), 1);
  assert_int_equal (waits_of (1, 1), 0);
  assert_int_equal (waits_of (1, 1), 1);
  destroy ();
  unsetenv ("BLKHASH_CPU");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_errors),
    cmocka_unit_test (test_no_memory),
    cmocka_unit_test (test_zeros),
    cmocka_unit_test (test_wake_next),
    cmocka_unit_test (test_own_blocks),
    cmocka_unit_test (test_gather),
    cmocka_unit_test (test_taken),
  };

  alarm (300);                  /* a wake-up that is lost is a failure */
  return cmocka_run_group_tests (tests, NULL, NULL);
}
