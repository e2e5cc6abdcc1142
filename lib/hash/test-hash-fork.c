/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the child of fork(2) can use no hash and no leaf table of its
 * parent, but each call returns, although threads of the parent were hashing,
 * or held locks; objects that the child creates work, and the parent's are not
 * affected.
 *
 * A thread of the parent is stopped in a function that is wrapped, so what it
 * does during the fork is certain.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash-manifest.h"
#include "blkhash.h"
#include "construction/leaf.h"
#include "lanes/lane-kernel.h"
#include "lanes/lanes.h"
#include "leaves/leaf-tree.h"

#define BLOCK 65536
#define BLOCKS 96               /* three jobs of a hash */
#define TIMEOUT 60              /* seconds, for a child that hangs */

static unsigned char image[BLOCKS * BLOCK];

/* ---- Threads that are stopped ---- */

/* A function of the library in which a thread can be stopped. */
struct gate {
  bool armed;                   /* set while no other thread runs */
  sem_t entered, leave;
};

static struct gate hashing, storing, testing;
static pthread_t forking;       /* the thread that forks */
static atomic_bool forks;       /* it does: see test_lock_of_all */

static void
arm (struct gate *gate)
{
  sem_init (&gate->entered, 0, 0);
  sem_init (&gate->leave, 0, 0);
  gate->armed = true;
}

static void
disarm (struct gate *gate)
{
  gate->armed = false;
  sem_destroy (&gate->entered);
  sem_destroy (&gate->leave);
}

static void
wait_for (sem_t *sem)
{
  while (sem_wait (sem) != 0)
    assert_int_equal (errno, EINTR);
}

static void
pass (struct gate *gate)
{
  if (!gate->armed)
    return;
  sem_post (&gate->entered);
  wait_for (&gate->leave);
  sem_post (&gate->leave);      /* all others pass, too */
}

int __real_leaf_batch (struct leaf_engine *engine, struct leaf_block *blocks,
                       size_t count);
int __wrap_leaf_batch (struct leaf_engine *engine, struct leaf_block *blocks,
                       size_t count);
int __real_leaf_tree_set (struct leaf_tree *tree, uint64_t first,
                          uint64_t count, enum leaf_state state);
int __wrap_leaf_tree_set (struct leaf_tree *tree, uint64_t first,
                          uint64_t count, enum leaf_state state);
bool __real_lane_kernel_works (const struct lane_hash *hash,
                               const struct lane_kernel *kernel);
bool __wrap_lane_kernel_works (const struct lane_hash *hash,
                               const struct lane_kernel *kernel);
int __real_pthread_mutex_lock (pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock (pthread_mutex_t *lock);

int
__wrap_leaf_batch (struct leaf_engine *engine, struct leaf_block *blocks,
                   size_t count)
{
  pass (&hashing);
  return __real_leaf_batch (engine, blocks, count);
}

/* Called with the lock of the table. */
int
__wrap_leaf_tree_set (struct leaf_tree *tree, uint64_t first, uint64_t count,
                      enum leaf_state state)
{
  pass (&storing);
  return __real_leaf_tree_set (tree, first, count, state);
}

/* Called with the lock of what all objects share. */
bool
__wrap_lane_kernel_works (const struct lane_hash *hash,
                          const struct lane_kernel *kernel)
{
  pass (&testing);
  return __real_lane_kernel_works (hash, kernel);
}

int
__wrap_pthread_mutex_lock (pthread_mutex_t *lock)
{
  if (forks && pthread_equal (pthread_self (), forking))
    sem_post (&testing.leave);
  return __real_pthread_mutex_lock (lock);
}

/* ---- Children ---- */

/* In the child: end it with a status that names the line. */
#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf (stderr, "test-hash-fork.c:%d: not so: %s\n", __LINE__,        \
               #condition);                                             \
      _exit (1);                                                        \
    }                                                                   \
  } while (0)

/* Run CHECKS in a child, and wait for it.  Returns false if one failed, so that
 * the caller can let its threads end first.
 */
static bool
run_child (void (*checks) (void *), void *opaque)
{
  pid_t pid = fork ();
  int status;

  assert_int_not_equal (pid, -1);
  if (pid == 0) {
    alarm (TIMEOUT);            /* a call that hangs ends the child */
    checks (opaque);
    _exit (0);
  }
  assert_int_equal (waitpid (pid, &status, 0), pid);
  if (WIFSIGNALED (status) && WTERMSIG (status) == SIGALRM)
    print_error ("a call in the child hangs\n");
  return WIFEXITED (status) && WEXITSTATUS (status) == 0;
}

static struct blkhash_opts *
new_opts (const char *spec, unsigned queue_depth)
{
  struct blkhash_opts *opts = blkhash_opts_from_tag (spec);

  assert_non_null (opts);
  blkhash_opts_set_threads (opts, 2);
  blkhash_opts_set_queue_depth (opts, queue_depth);
  return opts;
}

static void
sum_of_image (const struct blkhash_opts *opts, unsigned char *md)
{
  struct blkhash *h = blkhash_new_opts (opts);

  assert_non_null (h);
  assert_int_equal (blkhash_update (h, image, sizeof image), 0);
  assert_int_equal (blkhash_final (h, md, NULL), 0);
  blkhash_free (h);
}

/* A child cannot start threads if it runs with ThreadSanitizer. */
static void
check_new_objects (const struct blkhash_opts *opts, const unsigned char *md)
{
  unsigned char got[BLKHASH_MAX_MD_SIZE];
  size_t size = blkhash_opts_get_digest_size (opts);
  struct blkhash_leaves *l = blkhash_leaves_new (opts, sizeof image, 0);
#ifndef __SANITIZE_THREAD__
  struct blkhash *h = blkhash_new_opts (opts);

  CHECK (h);
  CHECK (blkhash_update (h, image, sizeof image) == 0);
  CHECK (blkhash_final (h, got, NULL) == 0);
  CHECK (memcmp (got, md, size) == 0);
  blkhash_free (h);
#endif
  CHECK (l);
  CHECK (blkhash_leaves_data (l, image, sizeof image, 0) == 0);
  CHECK (blkhash_leaves_fold (l, got, NULL) == 0);
  CHECK (memcmp (got, md, size) == 0);
  blkhash_leaves_free (l);
}

/* ---- Hashes ---- */

struct hash_test {
  struct blkhash_opts *opts;
  struct blkhash *h;
  unsigned char md[BLKHASH_MAX_MD_SIZE]; /* of the image */
};

static void
check_hash (struct blkhash *h)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE] = { 1 };
  struct blkhash_completion done;
  unsigned len = 77;

  CHECK (blkhash_update (h, image, BLOCK) == EINVAL);
  CHECK (blkhash_update (h, image, 0) == EINVAL);
  CHECK (blkhash_zero (h, BLOCK) == EINVAL);
  CHECK (blkhash_aio_update (h, image, BLOCK, NULL) == EINVAL);
  CHECK (blkhash_aio_completions (h, &done, 1) == -EINVAL);
  errno = 0;
  CHECK (blkhash_aio_completion_fd (h) == -1 && errno == EINVAL);
  CHECK (blkhash_final (h, md, &len) == EINVAL);
  CHECK (md[0] == 1 && len == 77);
  errno = 7;
  blkhash_free (h);
  CHECK (errno == 7);
}

static void
check_hash_in_child (void *opaque)
{
  struct hash_test *test = opaque;

  check_hash (test->h);
  hashing.armed = false;
  check_new_objects (test->opts, test->md);
}

/* Both threads of the hash are hashing during the fork. */
static void
test_hash (void **state)
{
  static const char *const specs[] = {
    "blk-sha256/64k", "blk-sha256/64k/linear", "blk-sha256/64k/s3",
    "blk-sha512/64k"
  };

  (void) state;
  for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
    for (unsigned depth = 0; depth <= 4; depth += 4) {
      struct hash_test test = { .opts = new_opts (specs[i], depth) };
      unsigned char md[BLKHASH_MAX_MD_SIZE];
      size_t half = sizeof image / 2;
      bool ok;

      sum_of_image (test.opts, test.md);
      test.h = blkhash_new_opts (test.opts);
      assert_non_null (test.h);
      arm (&hashing);
      for (size_t at = 0; at < sizeof image; at += half)
        assert_int_equal (depth > 0
                          ? blkhash_aio_update (test.h, image + at, half, NULL)
                          : blkhash_update (test.h, image + at, half), 0);
      /* Until both threads wait, one may hold a lock of OpenSSL, or of the
       * allocator of a sanitizer.
       */
      wait_for (&hashing.entered);
      wait_for (&hashing.entered);
      ok = run_child (check_hash_in_child, &test);
      sem_post (&hashing.leave);
      assert_int_equal (blkhash_final (test.h, md, NULL), 0);
      assert_memory_equal (md, test.md,
                           blkhash_opts_get_digest_size (test.opts));
      blkhash_free (test.h);
      blkhash_opts_free (test.opts);
      disarm (&hashing);
      assert_true (ok);
    }
}

/* ---- Leaf tables ---- */

struct table_test {
  struct blkhash_opts *opts;
  struct blkhash_leaves *l;
  unsigned char md[BLKHASH_MAX_MD_SIZE]; /* of the image */
};

static void
check_table (struct blkhash_leaves *l)
{
  static const unsigned char leaf[32] = { 1 };
  const struct blkhash_manifest_run run = {
    .count = 1, .leaves = leaf, .leaf_size = sizeof leaf
  }, zeros = { .count = 1 };
  unsigned char md[BLKHASH_MAX_MD_SIZE] = { 1 };
  uint64_t start = 77, count = 77;
  unsigned len = 77;

  CHECK (blkhash_leaves_data (l, image, BLOCK, 0) == EINVAL);
  CHECK (blkhash_leaves_data (l, image, 1, 1) == EINVAL);
  CHECK (blkhash_leaves_data (l, image, 0, 0) == EINVAL);
  CHECK (blkhash_leaves_zero (l, BLOCK, 0) == EINVAL);
  CHECK (blkhash_leaves_forget (l, BLOCK, 0) == EINVAL);
  CHECK (blkhash_leaves_set_size (l, sizeof image) == EINVAL);
  CHECK (blkhash_leaves_next_missing (l, 0, &start, &count) == EINVAL);
  CHECK (start == 77 && count == 77);
  blkhash_leaves_count (l, &start, &count);
  CHECK (start == 0 && count == 0);
  CHECK (blkhash_leaves_set_sink (l, NULL) == EINVAL);
  CHECK (blkhash_leaves_batch (l) % BLOCK == 0);
  CHECK (blkhash_leaves_put_run (l, &run) == EINVAL);
  CHECK (blkhash_leaves_put_run (l, &zeros) == EINVAL);
  CHECK (blkhash_leaves_fold (l, md, &len) == EINVAL);
  CHECK (blkhash_leaves_save (l, STDERR_FILENO, md, &len) == EINVAL);
  CHECK (md[0] == 1 && len == 77);
  errno = 7;
  blkhash_leaves_free (l);
  CHECK (errno == 7);
}

static void
check_table_in_child (void *opaque)
{
  struct table_test *test = opaque;

  check_table (test->l);
  hashing.armed = storing.armed = false;
  check_new_objects (test->opts, test->md);
}

static void *
set_image (void *opaque)
{
  struct table_test *test = opaque;
  int err = blkhash_leaves_zero (test->l, BLOCK, 0);

  if (err == 0)
    err = blkhash_leaves_data (test->l, image + BLOCK, sizeof image - BLOCK,
                               BLOCK);
  return err == 0 ? NULL : test;
}

/* A thread holds the lock of the table during the fork, or is hashing. */
static void
test_table (void **state)
{
  static const unsigned flags[] = {
    0, BLKHASH_LEAVES_ONCE, BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM
  };

  (void) state;
  memset (image, 0, BLOCK);
  for (int i = 0; i < 12; i++) {
    struct table_test test = { .opts = new_opts ("blk-sha256/64k", 0) };
    struct gate *gate = i % 2 ? &hashing : &storing;
    unsigned char md[BLKHASH_MAX_MD_SIZE];
    bool known = i / 2 % 2 == 0, ok;
    unsigned len;
    pthread_t thread;
    void *result;

    sum_of_image (test.opts, test.md);
    test.l = blkhash_leaves_new (test.opts,
                                 known ? sizeof image : BLKHASH_SIZE_UNKNOWN,
                                 flags[i / 4]);
    assert_non_null (test.l);
    arm (gate);
    assert_int_equal (pthread_create (&thread, NULL, set_image, &test), 0);
    wait_for (&gate->entered);
    ok = run_child (check_table_in_child, &test);
    sem_post (&gate->leave);
    assert_int_equal (pthread_join (thread, &result), 0);
    assert_null (result);
    if (!known)
      assert_int_equal (blkhash_leaves_set_size (test.l, sizeof image), 0);
    assert_int_equal (blkhash_leaves_fold (test.l, md, &len), 0);
    assert_memory_equal (md, test.md, len);
    assert_int_equal (len, flags[i / 4] & BLKHASH_LEAVES_NO_SUM ? 0 : 32);
    blkhash_leaves_free (test.l);
    blkhash_opts_free (test.opts);
    disarm (gate);
    assert_true (ok);
  }
  memset (image, 1, BLOCK);
}

/* ---- Children of children ---- */

static void
check_hash_only (void *opaque)
{
  check_hash (opaque);
}

static void
check_grandchild (void *opaque)
{
  struct hash_test *test = opaque, own = { .h = blkhash_new () };

  check_hash (test->h);
  CHECK (own.h);
  CHECK (blkhash_update (own.h, image, 1) == 0);
  CHECK (run_child (check_hash_only, own.h));
  CHECK (run_child (check_hash_only, test->h));
  blkhash_free (own.h);
}

/* The objects of a child are its own, and not those of its children. */
static void
test_grandchild (void **state)
{
  struct hash_test test = { .h = blkhash_new () };
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  (void) state;
  assert_non_null (test.h);
  assert_true (run_child (check_grandchild, &test));
  assert_int_equal (blkhash_update (test.h, image, 1), 0);
  assert_int_equal (blkhash_final (test.h, md, NULL), 0);
  blkhash_free (test.h);
}

/* ---- The lock of what all objects share ---- */

static sem_t forked;

/* Do what a constructor does with the lock. */
static void *
test_kernels (void *opaque)
{
  struct lanes *lanes = lanes_create ("blake2b512");

  (void) opaque;
  sem_post (&testing.entered);  /* if this CPU can run no kernel */
  wait_for (&forked);           /* the child has no thread that has ended */
  lanes_free (lanes);
  return NULL;
}

static void
check_lock_in_child (void *opaque)
{
  struct hash_test *test = opaque;

  forks = testing.armed = false;
  check_new_objects (test->opts, test->md);
}

/* Another thread holds that lock when fork is called: fork waits for the lock,
 * so that a constructor in the child finds it free.
 */
static void
test_lock_of_all (void **state)
{
  struct hash_test test = { .opts = new_opts ("blk-sha256/64k", 0) };
  pthread_t thread;
  bool ok;

  (void) state;
  sum_of_image (test.opts, test.md); /* also installs the handlers */
  arm (&testing);
  sem_init (&forked, 0, 0);
  forking = pthread_self ();
  assert_int_equal (pthread_create (&thread, NULL, test_kernels, NULL), 0);
  wait_for (&testing.entered);
  forks = true;
  ok = run_child (check_lock_in_child, &test);
  forks = false;
  sem_post (&testing.leave);    /* if fork did not wait */
  sem_post (&forked);
  assert_int_equal (pthread_join (thread, NULL), 0);
  blkhash_opts_free (test.opts);
  sem_destroy (&forked);
  disarm (&testing);
  assert_true (ok);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_lock_of_all),
    cmocka_unit_test (test_hash),
    cmocka_unit_test (test_table),
    cmocka_unit_test (test_grandchild),
  };

  if (getenv ("BLKHASH_NO_FORK")) {
    puts ("SKIP: this emulator aborts in the child of a fork with threads");
    return 77;
  }
  for (size_t i = 0; i < sizeof image; i++)
    image[i] = 1 + i / BLOCK;
  return cmocka_run_group_tests (tests, NULL, NULL);
}
