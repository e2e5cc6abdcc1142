/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: tables that share a budget for pieces of blocks, blocks of zeros
 * with a part replaced, folds that hash such blocks, and failed allocations.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash.h"
#include "construction/leaf.h"
#include "leaves/leaves-private.h"
#include "leaves/leaves.h"

#define MIB (1024 * 1024)
#define BLOCK 65536
#define BLOCKS 4000

void *__real_malloc (size_t size);
void *__wrap_malloc (size_t size);
void *__real_calloc (size_t count, size_t size);
void *__wrap_calloc (size_t count, size_t size);
int __real_leaf_batch (struct leaf_engine *engine, struct leaf_block *blocks,
                       size_t count);
int __wrap_leaf_batch (struct leaf_engine *engine, struct leaf_block *blocks,
                       size_t count);

static bool no_memory;          /* small allocations fail */
static _Atomic size_t hashed;   /* blocks */
static _Atomic bool hold;       /* the next call of leaf_batch waits until
                                 * FOLDED is posted, at most a second */
static sem_t hashing, folded;
static _Atomic bool no_leaf;    /* leaf_batch fails */

void *
__wrap_malloc (size_t size)
{
  return no_memory && size < BLOCK ? NULL : __real_malloc (size);
}

void *
__wrap_calloc (size_t count, size_t size)
{
  return no_memory && count * size < BLOCK ? NULL
                                           : __real_calloc (count, size);
}

int
__wrap_leaf_batch (struct leaf_engine *engine, struct leaf_block *blocks,
                   size_t count)
{
  struct timespec deadline;

  hashed += count;
  if (hold) {
    hold = false;
    sem_post (&hashing);
    clock_gettime (CLOCK_REALTIME, &deadline);
    deadline.tv_sec++;
    while (sem_timedwait (&folded, &deadline) == -1 && errno == EINTR)
      ;
  }
  return no_leaf ? ENOMEM : __real_leaf_batch (engine, blocks, count);
}

static struct blkhash_leaves *
new_table (uint32_t block_size, struct pieces_budget *budget)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash_leaves *l;

  blkhash_opts_set_block_size (opts, block_size);
  l = leaves_new_in_budget (opts, (uint64_t) BLOCKS * block_size, 0, budget);
  blkhash_opts_free (opts);
  assert_non_null (l);
  return l;
}

static void
give (struct blkhash_leaves *l, uint64_t block, uint64_t count)
{
  for (; count > 0; count--, block++)
    assert_int_equal (blkhash_leaves_data (l, "x", 1, block * BLOCK + 7), 0);
}

static uint64_t
missing_bytes (struct blkhash_leaves *l)
{
  uint64_t offset = 0, start, len, sum = 0;

  while (blkhash_leaves_next_missing (l, offset, &start, &len) == 0) {
    sum += len;
    offset = start + len;
  }
  return sum;
}

/* Returns the number of known bytes.  If only give was called, this is the
 * number of blocks that have a piece: each piece is one byte.
 */
static uint64_t
pieces_of (struct blkhash_leaves *l)
{
  return (uint64_t) BLOCKS * BLOCK - missing_bytes (l);
}

/* A table that is not used any more does not keep other tables from using its
 * memory.
 */
static void
test_evict_others (void **state)
{
  struct pieces_budget budget = { .bound = 64 * MIB };
  struct blkhash_leaves *gone = new_table (BLOCK, &budget);
  struct blkhash_leaves *used = new_table (BLOCK, &budget);

  (void) state;
  give (gone, 0, 2000);
  assert_true (pieces_of (gone) > 800);
  give (used, 0, 400);
  assert_int_equal (pieces_of (used), 400);
  assert_true (pieces_of (gone) > 400);
  give (used, 400, 2000);
  /* Both tables now hold about the same amount. */
  assert_true (pieces_of (used) > 400);
  assert_true (pieces_of (gone) > 400);
  blkhash_leaves_free (gone);
  give (used, 0, 700);
  assert_true (pieces_of (used) > 800);
  leaves_release_pieces (used);
  assert_int_equal (pieces_of (used), 0);
  assert_true (budget.used <= MIB);
  blkhash_leaves_free (used);
  assert_int_equal (budget.used, 0);
}

/* A complete block is hashed, not lost, if another table needs its memory. */
static void
test_others_hash (void **state)
{
  struct pieces_budget budget = { .bound = 64 * MIB };
  struct blkhash_leaves *gone = new_table (BLOCK, &budget);
  struct blkhash_leaves *used = new_table (BLOCK, &budget);
  uint64_t start, len;

  (void) state;
  assert_int_equal (blkhash_leaves_zero (gone, (uint64_t) BLOCKS * BLOCK, 0),
                    0);
  give (gone, 0, 800);
  hashed = 0;
  give (used, 0, 400);
  assert_int_equal (pieces_of (used), 400);
  assert_true (hashed > 200);
  assert_int_equal (blkhash_leaves_next_missing (gone, 0, &start, &len),
                    ENOENT);
  blkhash_leaves_free (gone);
  blkhash_leaves_free (used);
}

/* A block with as many pieces as it can have: forgetting a byte in the middle of
 * one, for which there is no room, forgets the whole block.
 */
static void
test_forget_too_many (void **state)
{
  struct pieces_budget budget = { .bound = 64 * MIB };
  struct blkhash_leaves *l = new_table (BLOCK, &budget);
  uint64_t pieces = 0;

  (void) state;
  for (; missing_bytes (l) == (uint64_t) BLOCKS * BLOCK - 3 * pieces; pieces++)
    assert_int_equal (blkhash_leaves_data (l, "xyz", 3, pieces * 16), 0);
  pieces--;                     /* the last one was too many */
  assert_true (pieces > 500);
  assert_int_equal (blkhash_leaves_forget (l, BLOCK, 0), 0);
  for (uint64_t i = 0; i < pieces; i++)
    assert_int_equal (blkhash_leaves_data (l, "xyz", 3, i * 16), 0);
  assert_int_equal (missing_bytes (l),
                    (uint64_t) BLOCKS * BLOCK - 3 * pieces);
  assert_int_equal (blkhash_leaves_forget (l, 1, 1), 0);
  assert_int_equal (missing_bytes (l), (uint64_t) BLOCKS * BLOCK);
  blkhash_leaves_free (l);
}

/* Writing a byte into a block of zeros does not touch the memory of the whole
 * block.
 */
static void
test_byte_into_zeros (void **state)
{
  struct blkhash_leaves *l = new_table (16 * MIB, NULL);
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct rusage before, after;
  uint64_t i, start, len;

  (void) state;
  assert_int_equal (blkhash_leaves_zero (l, (uint64_t) BLOCKS * 16 * MIB, 0),
                    0);
  hashed = 0;
  getrusage (RUSAGE_SELF, &before);
  for (i = 0; i < 100; i++)
    assert_int_equal (blkhash_leaves_data (l, "x", 1, i * 4096 + 5), 0);
  getrusage (RUSAGE_SELF, &after);
  assert_int_equal (hashed, 0);
  assert_true (after.ru_minflt - before.ru_minflt < 1000);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), ENOENT);
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
  assert_int_equal (hashed, 1);
  blkhash_leaves_free (l);
}

/* A byte is written into each of 3000 blocks of zeros.  The budget has room for
 * only some of these blocks.  The oldest ones are hashed and not evicted, so no
 * block is missing.
 */
static void
test_zeros_are_hashed (void **state)
{
  struct blkhash_leaves *l = new_table (BLOCK, NULL);
  uint64_t start, len, data, zero;

  (void) state;
  assert_int_equal (blkhash_leaves_zero (l, (uint64_t) BLOCKS * BLOCK, 0), 0);
  hashed = 0;
  give (l, 0, 3000);
  assert_true (hashed > 2000 && hashed < 2200);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), ENOENT);
  blkhash_leaves_count (l, &data, &zero);
  assert_int_equal (data, 3000 * BLOCK);
  assert_int_equal (zero, 1000 * BLOCK);

  /* Another byte of the last block, which is not hashed yet, can be given. */
  assert_int_equal (blkhash_leaves_data (l, "y", 1, 2999 * BLOCK), 0);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), ENOENT);
  leaves_release_pieces (l);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), ENOENT);
  assert_int_equal (hashed, 3000);
  blkhash_leaves_free (l);
}

/* There is memory for the piece, but not for the nodes of its block in the
 * tree.  The table returns ENOMEM, and its pieces can still be released.
 */
static void
test_no_memory (void **state)
{
  struct blkhash_leaves *l = new_table (BLOCK, NULL);
  uint64_t start, len;

  (void) state;
  give (l, 0, 3);
  no_memory = true;
  assert_int_equal (blkhash_leaves_data (l, "x", 1, 3000 * BLOCK), ENOMEM);
  no_memory = false;
  alarm (300);
  leaves_release_pieces (l);
  alarm (0);
  assert_int_equal (blkhash_leaves_data (l, "x", 1, 0), ENOMEM);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), ENOMEM);
  blkhash_leaves_free (l);
}

struct fold {
  struct blkhash_leaves *l;
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  int err;
};

static void *
run_fold (void *opaque)
{
  struct fold *fold = opaque;

  fold->err = blkhash_leaves_fold (fold->l, fold->md, NULL);
  return NULL;
}

/* While a fold hashes a block of zeros of which a byte was replaced, another
 * fold begins.  It waits for the first fold, which is held for one second, and
 * both succeed.
 */
static void
test_two_folds (void **state)
{
  struct blkhash_leaves *l = new_table (BLOCK, NULL);
  struct fold folds[2] = { { l, { 0 }, -1 }, { l, { 0 }, -1 } };
  pthread_t threads[2];

  (void) state;
  assert_int_equal (blkhash_leaves_zero (l, (uint64_t) BLOCKS * BLOCK, 0), 0);
  give (l, 0, 3);
  sem_init (&hashing, 0, 0);
  sem_init (&folded, 0, 0);
  hold = true;
  alarm (300);
  assert_int_equal (pthread_create (&threads[0], NULL, run_fold, &folds[0]),
                    0);
  while (sem_wait (&hashing) == -1)
    ;
  assert_int_equal (pthread_create (&threads[1], NULL, run_fold, &folds[1]),
                    0);
  pthread_join (threads[1], NULL);
  sem_post (&folded);
  pthread_join (threads[0], NULL);
  alarm (0);
  assert_int_equal (folds[0].err, 0);
  assert_int_equal (folds[1].err, 0);
  assert_memory_equal (folds[0].md, folds[1].md, 32);
  sem_destroy (&hashing);
  sem_destroy (&folded);
  blkhash_leaves_free (l);
}

/* While a fold hashes a block of zeros of which a byte was replaced, the block
 * becomes zero again, and then the fold fails.
 */
static void
test_replaced_and_failed (void **state)
{
  struct blkhash_leaves *l = new_table (BLOCK, NULL);
  struct fold fold = { l, { 0 }, -1 };
  pthread_t thread;

  (void) state;
  assert_int_equal (blkhash_leaves_zero (l, (uint64_t) BLOCKS * BLOCK, 0), 0);
  give (l, 0, 1);
  sem_init (&hashing, 0, 0);
  sem_init (&folded, 0, 0);
  hold = true;
  alarm (300);
  assert_int_equal (pthread_create (&thread, NULL, run_fold, &fold), 0);
  while (sem_wait (&hashing) == -1)
    ;
  no_leaf = true;
  assert_int_equal (blkhash_leaves_zero (l, BLOCK, 0), 0);
  sem_post (&folded);
  pthread_join (thread, NULL);
  alarm (0);
  no_leaf = false;
  assert_int_equal (fold.err, ENOMEM);
  sem_destroy (&hashing);
  sem_destroy (&folded);
  blkhash_leaves_free (l);
}

struct writer {
  struct blkhash_leaves *l;
  unsigned seed;
};

static void *
write_randomly (void *opaque)
{
  struct writer *writer = opaque;
  unsigned i;

  for (i = 0; i < 4000; i++) {
    uint64_t block = rand_r (&writer->seed) % BLOCKS;
    size_t at = rand_r (&writer->seed) % (BLOCK - 10);
    int err = rand_r (&writer->seed) % 8 == 0
      ? blkhash_leaves_zero (writer->l, BLOCK, block * BLOCK)
      : blkhash_leaves_data (writer->l, "0123456789", 10, block * BLOCK + at);

    if (err)
      return (void *) writer;
  }
  return NULL;
}

/* Nine threads write to three tables that share a budget, so the tables evict
 * each other's blocks at the same time.
 */
static void
test_at_once (void **state)
{
  struct pieces_budget budget = { .bound = 4 * MIB };
  struct blkhash_leaves *tables[3];
  struct writer writers[9];
  pthread_t threads[9];
  unsigned i;

  (void) state;
  for (i = 0; i < 3; i++)
    tables[i] = new_table (BLOCK, &budget);
  for (i = 0; i < 9; i++) {
    writers[i] = (struct writer) { tables[i % 3], i };
    assert_int_equal (pthread_create (&threads[i], NULL, write_randomly,
                                      &writers[i]), 0);
  }
  for (i = 0; i < 9; i++) {
    void *failed;

    pthread_join (threads[i], &failed);
    assert_null (failed);
  }
  assert_true (budget.used <= budget.bound);
  assert_int_equal (budget.busy, 0);
  for (i = 0; i < 3; i++)
    blkhash_leaves_free (tables[i]);
  assert_int_equal (budget.used, 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_evict_others),
    cmocka_unit_test (test_others_hash),
    cmocka_unit_test (test_forget_too_many),
    cmocka_unit_test (test_byte_into_zeros),
    cmocka_unit_test (test_zeros_are_hashed),
    cmocka_unit_test (test_no_memory),
    cmocka_unit_test (test_two_folds),
    cmocka_unit_test (test_replaced_and_failed),
    cmocka_unit_test (test_at_once),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
