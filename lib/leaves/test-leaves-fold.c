/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: in a table with BLKHASH_LEAVES_ONCE, one thread at a time folds
 * the leaves of all threads.  The other threads wait while too many leaves are
 * not folded yet.
 */

#include <config.h>

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash.h"
#include "construction/outer.h"
#include "leaves/leaves-private.h"

#define BLOCK 4
#define BLOCKS 200000
#define FIRST 64                /* blocks that the slow thread gives */

int __real_outer_leaves (struct outer *outer, const unsigned char *leaves,
                         size_t count);
int __wrap_outer_leaves (struct outer *outer, const unsigned char *leaves,
                         size_t count);
int __real_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock);

static bool slow;               /* the next fold lasts until a thread waits for
                                 * it */
static sem_t folds, waits;      /* a fold began; a thread waits for it */
static unsigned char data[BLOCK * BLOCKS];
static struct blkhash_leaves *table;
static uint64_t most;           /* unfolded leaves when a thread first waited */

int
__wrap_outer_leaves (struct outer *outer, const unsigned char *leaves,
                     size_t count)
{
  if (slow) {
    slow = false;
    sem_post (&folds);
    while (sem_wait (&waits) == -1)
      ;
  }
  return __real_outer_leaves (outer, leaves, count);
}

int
__wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock)
{
  if (table && cond == &table->folding_ended && most == 0) {
    most = table->unfolded;
    sem_post (&waits);
  }
  return __real_pthread_cond_wait (cond, lock);
}

static struct blkhash_leaves *
new_table (unsigned flags)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash_leaves *l;

  blkhash_opts_set_block_size (opts, BLOCK);
  l = blkhash_leaves_new (opts, sizeof data, flags);
  blkhash_opts_free (opts);
  assert_non_null (l);
  return l;
}

static void *
give_first (void *unused)
{
  (void) unused;
  return blkhash_leaves_data (table, data, FIRST * BLOCK, 0) == 0 ? table
                                                                  : NULL;
}

static void
test_waits (void **state)
{
  struct blkhash_leaves *other = new_table (0);
  unsigned char md[BLKHASH_MAX_MD_SIZE], expected[BLKHASH_MAX_MD_SIZE];
  pthread_t thread;
  void *given;

  (void) state;
  memset (data, 1, sizeof data);
  assert_int_equal (blkhash_leaves_data (other, data, sizeof data, 0), 0);
  assert_int_equal (blkhash_leaves_fold (other, expected, NULL), 0);
  blkhash_leaves_free (other);

  sem_init (&folds, 0, 0);
  sem_init (&waits, 0, 0);
  table = new_table (BLKHASH_LEAVES_ONCE);
  slow = true;
  alarm (300);
  assert_int_equal (pthread_create (&thread, NULL, give_first, NULL), 0);
  while (sem_wait (&folds) == -1)
    ;
  assert_int_equal (blkhash_leaves_data (table, data + FIRST * BLOCK,
                                         sizeof data - FIRST * BLOCK,
                                         FIRST * BLOCK), 0);
  sem_post (&waits);
  pthread_join (thread, &given);
  alarm (0);
  assert_non_null (given);
  assert_true (most > 0 && most < 40000);
  assert_int_equal (blkhash_leaves_fold (table, md, NULL), 0);
  assert_memory_equal (md, expected, 32);
  blkhash_leaves_free (table);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_waits) };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
