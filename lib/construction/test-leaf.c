/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: many threads hash batches of any size at once, and each thread
 * gets the leaves of its own blocks.  A linker wrapper for sysconf sets the
 * number of CPUs, to test with few and with many.
 */

#include <config.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "construction/leaf.h"
#include "digest/digest.h"

#define THREADS 16
#define ROUNDS 100
#define MAX_BLOCKS 100
#define BLOCK 512

long __real_sysconf (int name);
long __wrap_sysconf (int name);

static long cpus;

long
__wrap_sysconf (int name)
{
  return name == _SC_NPROCESSORS_ONLN ? cpus : __real_sysconf (name);
}

static struct digest *digest;
static struct leaf_engine *engine;

struct worker {
  pthread_t thread;
  unsigned seed;
  bool ok;
};

/* Is the leaf equal to the digest of the block, computed separately? */
static bool
is_leaf_of (struct digest_ctx *ctx, const struct leaf_block *block)
{
  unsigned char md[64];

  digest_init (ctx);
  digest_update (ctx, block->data, block->len);
  digest_final (ctx, md);
  return memcmp (md, block->md, digest_size (digest)) == 0;
}

static void *
run (void *opaque)
{
  struct worker *worker = opaque;
  struct digest_ctx *ctx = digest_ctx_create (digest);
  unsigned char (*data)[BLOCK] = calloc (MAX_BLOCKS, BLOCK);
  unsigned char (*md)[64] = calloc (MAX_BLOCKS, 64);
  struct leaf_block blocks[MAX_BLOCKS];
  size_t round, i;

  worker->ok = true;
  for (round = 0; round < ROUNDS; round++) {
    size_t count = 1 + rand_r (&worker->seed) %
      (round % 2 ? MAX_BLOCKS : 4);

    for (i = 0; i < count; i++) {
      bool zero = rand_r (&worker->seed) % 4 == 0;

      memset (data[i], 0, BLOCK);
      blocks[i].len = rand_r (&worker->seed) % 4 ? BLOCK
        : 1 + rand_r (&worker->seed) % BLOCK;
      if (!zero)
        data[i][blocks[i].len - 1] = 1 + rand_r (&worker->seed) % 255;
      blocks[i].data = data[i];
      blocks[i].md = md[i];
      blocks[i].zero = !zero;
    }
    if (leaf_batch (engine, blocks, count) != 0)
      worker->ok = false;
    for (i = 0; i < count; i++)
      if (blocks[i].zero != (data[i][blocks[i].len - 1] == 0) ||
          (!blocks[i].zero && !is_leaf_of (ctx, &blocks[i])))
        worker->ok = false;
  }
  free (data);
  free (md);
  digest_ctx_free (ctx);
  return NULL;
}

static void
run_threads (size_t threads, bool gather, long for_cpus)
{
  struct worker workers[THREADS];
  size_t i;

  cpus = for_cpus;
  digest = digest_create ("sha256");
  engine = leaf_engine_create (digest, BLOCK);
  assert_non_null (engine);
  if (gather)
    leaf_enable_gather (engine);
  for (i = 0; i < threads; i++) {
    workers[i].seed = i;
    assert_int_equal (pthread_create (&workers[i].thread, NULL, run,
                                      &workers[i]), 0);
  }
  for (i = 0; i < threads; i++) {
    pthread_join (workers[i].thread, NULL);
    assert_true (workers[i].ok);
  }
  leaf_engine_free (engine);
  digest_free (digest);
}

static void
test_threads (void **state)
{
  (void) state;
  run_threads (THREADS, false, 1);
  run_threads (THREADS, false, 2);
  run_threads (THREADS, false, THREADS);
  run_threads (THREADS, false, -1); /* the number of CPUs is unknown */
}

/* With leaf_enable_gather, small batches of many threads are hashed together.
 * The digests are also right if one thread waits in vain for others.
 */
static void
test_gather (void **state)
{
  (void) state;
  run_threads (THREADS, true, 1);
  run_threads (THREADS, true, 2);
  run_threads (THREADS, true, THREADS);
  run_threads (1, true, 1);
}

/* The leaf of a block of zeros is right, for a whole and for a short block. */
static void
test_zeros (void **state)
{
  static const unsigned char zeros[BLOCK];
  struct digest_ctx *ctx;
  unsigned char md[64];
  struct leaf_block block = { .data = zeros, .len = BLOCK };

  (void) state;
  digest = digest_create ("sha1");
  ctx = digest_ctx_create (digest);
  engine = leaf_engine_create (digest, BLOCK);
  block.md = (unsigned char *) leaf_zero_md (engine);
  assert_true (is_leaf_of (ctx, &block));
  block.md = md;
  block.len = 77;
  assert_int_equal (leaf_hash_zeros (engine, 77, md), 0);
  assert_true (is_leaf_of (ctx, &block));
  leaf_engine_free (engine);
  digest_ctx_free (ctx);
  digest_free (digest);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_threads),
    cmocka_unit_test (test_gather),
    cmocka_unit_test (test_zeros),
  };

  alarm (300);                  /* fail if a lost wake-up blocks a thread */
  return cmocka_run_group_tests (tests, NULL, NULL);
}
