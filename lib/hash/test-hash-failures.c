/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: lack of memory, lack of threads, blocks that cannot be hashed, and
 * completions that are reaped one by one.  Linker wrappers make the functions
 * below fail.
 */

#include <config.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash-manifest.h"
#include "blkhash.h"
#include "construction/leaf.h"
#include "construction/outer.h"
#include "leaves/leaves.h"

#define BLOCK 65536

void *__real_malloc (size_t size);
void *__wrap_malloc (size_t size);
int __real_posix_memalign (void **p, size_t alignment, size_t size);
int __wrap_posix_memalign (void **p, size_t alignment, size_t size);
int __real_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                           void *(*start) (void *), void *arg);
int __wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                           void *(*start) (void *), void *arg);

int __real_leaf_batch (struct leaf_engine *engine, struct leaf_block *blocks,
                       size_t count);
int __wrap_leaf_batch (struct leaf_engine *engine, struct leaf_block *blocks,
                       size_t count);
int __real_leaf_hash_zeros (struct leaf_engine *engine, size_t len,
                            unsigned char *md);
int __wrap_leaf_hash_zeros (struct leaf_engine *engine, size_t len,
                            unsigned char *md);
int __real_outer_final (struct outer *outer, uint64_t size, unsigned char *md);
int __wrap_outer_final (struct outer *outer, uint64_t size, unsigned char *md);

static bool no_large_memory, no_threads, no_leaf_of_zeros, no_sum;
static int bad_byte = -1;       /* blocks that begin with this byte cannot be
                                 * hashed */
static atomic_size_t hashed;    /* number of blocks */

int
__wrap_leaf_batch (struct leaf_engine *engine, struct leaf_block *blocks,
                   size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (*(const unsigned char *) blocks[i].data == bad_byte)
      return EIO;
  const int err = __real_leaf_batch (engine, blocks, count);

  atomic_fetch_add (&hashed, count);
  return err;
}

int
__wrap_outer_final (struct outer *outer, uint64_t size, unsigned char *md)
{
  return no_sum ? EIO : __real_outer_final (outer, size, md);
}

int
__wrap_leaf_hash_zeros (struct leaf_engine *engine, size_t len,
                        unsigned char *md)
{
  return no_leaf_of_zeros ? ENOMEM : __real_leaf_hash_zeros (engine, len, md);
}

void *
__wrap_malloc (size_t size)
{
  return no_large_memory && size > 1024 * 1024 ? NULL : __real_malloc (size);
}

int
__wrap_posix_memalign (void **p, size_t alignment, size_t size)
{
  return no_large_memory && size > 1024 * 1024
    ? ENOMEM : __real_posix_memalign (p, alignment, size);
}

int
__wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                       void *(*start) (void *), void *arg)
{
  return no_threads ? EAGAIN : __real_pthread_create (thread, attr, start, arg);
}

/* 1: the next call of one of the three constructors below fails; 2: the call
 * after it, and so on; 0: none.
 */
static unsigned create_fails;

static bool
fails (void)
{
  if (create_fails == 0 || --create_fails > 0)
    return false;
  errno = ENOMEM;
  return true;
}

struct digest *__real_digest_create (const char *name);
struct digest *__wrap_digest_create (const char *name);
struct leaf_engine *__real_leaf_engine_create (const struct digest *digest,
                                               uint32_t block_size);
struct leaf_engine *__wrap_leaf_engine_create (const struct digest *digest,
                                               uint32_t block_size);
struct outer *__real_outer_create (const struct digest *digest,
                                   const struct construction *construction,
                                   const unsigned char *zero_leaf);
struct outer *__wrap_outer_create (const struct digest *digest,
                                   const struct construction *construction,
                                   const unsigned char *zero_leaf);

struct digest *
__wrap_digest_create (const char *name)
{
  return fails () ? NULL : __real_digest_create (name);
}

struct leaf_engine *
__wrap_leaf_engine_create (const struct digest *digest, uint32_t block_size)
{
  return fails () ? NULL : __real_leaf_engine_create (digest, block_size);
}

struct outer *
__wrap_outer_create (const struct digest *digest,
                     const struct construction *construction,
                     const unsigned char *zero_leaf)
{
  return fails () ? NULL
                  : __real_outer_create (digest, construction, zero_leaf);
}

static struct blkhash *
new_hash (unsigned queue_depth)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash *h;

  blkhash_opts_set_queue_depth (opts, queue_depth);
  blkhash_opts_set_threads (opts, 2);
  h = blkhash_new_opts (opts);
  blkhash_opts_free (opts);
  assert_non_null (h);
  return h;
}

/* A hash or a leaf table is not created if one of its parts cannot be created.
 * A leaf table without BLKHASH_LEAVES_ONCE has no outer hash, so the third
 * constructor is not called for it.
 */
static void
test_create (void **state)
{
  unsigned i;

  (void) state;
  for (i = 1; i <= 3; i++) {
    struct blkhash_leaves *l;

    create_fails = i;
    errno = 0;
    assert_null (blkhash_new_opts (NULL));
    assert_int_equal (errno, ENOMEM);
    assert_int_equal (create_fails, 0);
    create_fails = i;
    errno = 0;
    l = blkhash_leaves_new (NULL, BLOCK, 0);
    assert_true (create_fails > 0 || (!l && errno == ENOMEM));
    create_fails = 0;
    blkhash_leaves_free (l);
  }
}

/* After the full blocks were submitted, there is no memory to copy the short
 * last block.  On return no thread uses the buffer, and no request completes.
 */
static void
test_failed_aio_update (void **state)
{
  struct blkhash *h = new_hash (4);
  size_t len = 64 * BLOCK + 100;
  unsigned char *buf = malloc (len);
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_completion done[4];

  (void) state;
  memset (buf, 1, len);
  no_large_memory = true;
  assert_int_equal (blkhash_aio_update (h, buf, len, buf), ENOMEM);
  no_large_memory = false;
  free (buf);
  assert_int_equal (blkhash_aio_completions (h, done, 4), 0);
  assert_int_equal (blkhash_update (h, "x", 1), ENOMEM);
  assert_int_equal (blkhash_final (h, md, NULL), ENOMEM);
  blkhash_free (h);
}

/* Fewer zeros than a block are copied, so they cannot be appended without
 * memory.  After that, the sum would be that of an image without these zeros,
 * so there is none.
 */
static void
test_failed_zero (void **state)
{
  struct blkhash *h = new_hash (0);
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  (void) state;
  no_large_memory = true;
  assert_int_equal (blkhash_zero (h, 1), ENOMEM);
  no_large_memory = false;
  assert_int_equal (blkhash_zero (h, 1), ENOMEM);
  assert_int_equal (blkhash_final (h, md, NULL), ENOMEM);
  blkhash_free (h);
}

/* A bad block at the start of the image, within it, or at its end.  Requests
 * after the bad block may be refused.  Every accepted request completes; that
 * of the bad block completes with the error.  There is no digest.
 */
static void
test_bad_block (void **state)
{
  static unsigned char buf[100][BLOCK];
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_completion done[100];
  size_t bad, i;

  (void) state;
  bad_byte = 255;
  for (bad = 0; bad < 100; bad += 33) {
    struct blkhash *h = new_hash (100);
    size_t requests = 0, n = 0;
    int err = 0, error = 0;

    for (i = 0; i < 100; i++)
      buf[i][0] = i == bad ? 255 : 1;
    while (requests < 100 && err == 0) {
      err = blkhash_aio_update (h, buf[requests], BLOCK, buf[requests]);
      requests += err == 0;
    }
    assert_true (err == 0 || (err == EIO && requests > bad));
    while (n < requests)
      n += blkhash_aio_completions (h, done + n, requests - n);
    for (i = 0; i < requests; i++)
      if (done[i].user_data == buf[bad])
        error = done[i].error;
    assert_int_equal (error, EIO);
    assert_int_equal (blkhash_final (h, md, NULL), EIO);
    blkhash_free (h);

    h = new_hash (0);
    err = blkhash_update (h, buf, sizeof buf - 1);
    assert_true (err == 0 || err == EIO);
    assert_int_equal (blkhash_final (h, md, NULL), EIO);
    blkhash_free (h);
  }
  bad_byte = -1;
}

/* The short last block is all zero, and its leaf cannot be computed. */
static void
test_no_leaf_of_zeros (void **state)
{
  struct blkhash *h = new_hash (0);
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  (void) state;
  no_leaf_of_zeros = true;
  assert_int_equal (blkhash_zero (h, BLOCK + 1), 0);
  assert_int_equal (blkhash_final (h, md, NULL), ENOMEM);
  no_leaf_of_zeros = false;
  blkhash_free (h);
}

/* After the descriptor was drained and one completion was reaped, the
 * descriptor is readable again, as long as completions are left.
 */
static void
test_reap_one_by_one (void **state)
{
  static unsigned char buf[8][BLOCK];
  struct blkhash *h = new_hash (8);
  struct pollfd poll_fd = {
    .fd = blkhash_aio_completion_fd (h), .events = POLLIN
  };
  struct blkhash_completion done;
  char drain[8];
  int i;

  (void) state;
  atomic_store (&hashed, 0);
  for (i = 0; i < 8; i++) {
    buf[i][0] = 1;
    assert_int_equal (blkhash_aio_update (h, buf[i], BLOCK, buf[i]), 0);
  }
  assert_int_equal (blkhash_aio_update (h, buf[0], BLOCK, NULL), EAGAIN);
  /* Wait until all blocks are hashed, so that the first read of the descriptor
   * drains most notifications.
   */
  while (atomic_load (&hashed) < 8)
    usleep (100);
  for (i = 0; i < 8; ) {
    assert_int_equal (poll (&poll_fd, 1, 300000), 1);
    assert_true (read (poll_fd.fd, drain, sizeof drain) > 0);
    i += blkhash_aio_completions (h, &done, 1);
  }
  blkhash_free (h);
}

/* If no thread can be started, the calling thread hashes everything. */
static void
test_no_threads (void **state)
{
  static unsigned char buf[40 * BLOCK + 7];
  unsigned char with[BLKHASH_MAX_MD_SIZE], without[BLKHASH_MAX_MD_SIZE];
  struct blkhash_completion done;
  struct blkhash *h;

  (void) state;
  memset (buf, 1, sizeof buf);
  h = new_hash (1);
  assert_int_equal (blkhash_update (h, buf, sizeof buf), 0);
  assert_int_equal (blkhash_update (h, buf, sizeof buf), 0);
  assert_int_equal (blkhash_final (h, with, NULL), 0);
  blkhash_free (h);

  no_threads = true;
  h = new_hash (1);
  assert_int_equal (blkhash_update (h, buf, sizeof buf), 0);
  assert_int_equal (blkhash_aio_update (h, buf, sizeof buf, buf), 0);
  assert_int_equal (blkhash_aio_completions (h, &done, 1), 1);
  assert_ptr_equal (done.user_data, buf);
  assert_int_equal (blkhash_final (h, without, NULL), 0);
  no_threads = false;
  blkhash_free (h);
  assert_memory_equal (with, without, 32);
}

static void
test_null_buffer (void **state)
{
  struct blkhash_leaves *l = blkhash_leaves_new (NULL, 1000, 0);
  struct blkhash *h = new_hash (1);

  (void) state;
  assert_int_equal (blkhash_update (h, NULL, 0), 0);
  assert_int_equal (blkhash_aio_update (h, NULL, 1, NULL), EINVAL);
  assert_int_equal (blkhash_update (h, NULL, 1), EINVAL);
  assert_int_equal (blkhash_leaves_data (l, NULL, 1, 0), EINVAL);
  assert_int_equal (blkhash_leaves_data (l, NULL, 0, 0), 0);
  blkhash_free (h);
  blkhash_leaves_free (l);
}

/* If the sum of a table with BLKHASH_LEAVES_ONCE cannot be computed after the
 * last leaf, the error is sticky, and the table does not count as folded.
 */
static void
test_no_sum (void **state)
{
  struct blkhash_leaves *l = blkhash_leaves_new (NULL, BLOCK,
                                                 BLKHASH_LEAVES_ONCE);
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  uint64_t start, len;

  (void) state;
  assert_int_equal (blkhash_leaves_zero (l, BLOCK, 0), 0);
  no_sum = true;
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), EIO);
  no_sum = false;
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), EIO);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), EIO);
  blkhash_leaves_free (l);
}

/* A call that failed to set content can leave outdated leaves in the table, so
 * all later calls return its error.
 */
static void
test_leaf_table_error_sticks (void **state)
{
  struct blkhash_leaves *l = blkhash_leaves_new (NULL, 2 * BLOCK, 0);
  static unsigned char buf[BLOCK] = { 255 };
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  uint64_t start, len;

  (void) state;
  assert_int_equal (blkhash_leaves_zero (l, 2 * BLOCK, 0), 0);
  bad_byte = 255;
  assert_int_equal (blkhash_leaves_data (l, buf, BLOCK, BLOCK), EIO);
  bad_byte = -1;
  assert_int_equal (blkhash_leaves_data (l, buf, BLOCK, BLOCK), EIO);
  assert_int_equal (blkhash_leaves_data (l, buf, 1, 0), EIO);
  assert_int_equal (blkhash_leaves_zero (l, 2 * BLOCK, 0), EIO);
  assert_int_equal (blkhash_leaves_forget (l, BLOCK, 0), EIO);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), EIO);
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), EIO);
  blkhash_leaves_free (l);
}

static void *
give_bad_block (void *opaque)
{
  static unsigned char buf[BLOCK] = { 1 };

  blkhash_leaves_data (opaque, buf, BLOCK, 2 * BLOCK);
  return NULL;
}

static int sink_error;

/* Another thread gives the table a bad block while this one is in the sink. */
static int
pass_zeros (void *opaque, uint64_t index, uint64_t count)
{
  pthread_t thread;

  (void) index, (void) count;
  if (pthread_create (&thread, NULL, give_bad_block, opaque) != 0)
    return ENOMEM;
  pthread_join (thread, NULL);
  return sink_error;
}

static int
pass_data (void *opaque, uint64_t index, size_t count,
           const unsigned char *leaves, size_t leaf_size)
{
  (void) leaves, (void) leaf_size;
  return pass_zeros (opaque, index, count);
}

static struct blkhash_leaves *
new_table_once (unsigned flags)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash_leaves *l;
  struct blkhash_leaf_sink sink = { .data = pass_data, .zero = pass_zeros };

  blkhash_opts_set_block_size (opts, BLOCK);
  l = blkhash_leaves_new (opts, 3 * BLOCK, BLKHASH_LEAVES_ONCE | flags);
  assert_non_null (l);
  sink.opaque = l;
  assert_int_equal (blkhash_leaves_set_sink (l, &sink), 0);
  blkhash_opts_free (opts);
  return l;
}

/* If another thread gives a bad block during a call of the sink, the call that
 * called the sink and the fold after it return the error of that block, even if
 * the sink fails too.  The sink is called by blkhash_leaves_data; by
 * blkhash_leaves_zero of a table that computes no sum; by leaves_put_leaves; or
 * by blkhash_leaves_fold, for the zeros at the end.
 */
static void
test_leaf_table_error_while_told (void **state)
{
  static unsigned char buf[BLOCK] = { 2 };
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  (void) state;
  bad_byte = 1;
  for (int i = 0; i < 8; i++) {
    unsigned flags = i / 2 == 1 ? BLKHASH_LEAVES_NO_SUM : 0;
    struct blkhash_leaves *l = new_table_once (flags);
    int err;

    sink_error = i % 2 ? ENOSPC : 0;
    if (i / 2 == 0)
      err = blkhash_leaves_data (l, buf, BLOCK, 0);
    else if (i / 2 == 1)
      err = blkhash_leaves_zero (l, BLOCK, 0);
    else if (i / 2 == 2)
      err = leaves_put_leaves (l, 0, 1, buf, 32);
    else {
      assert_int_equal (blkhash_leaves_zero (l, 3 * BLOCK, 0), 0);
      err = blkhash_leaves_fold (l, md, NULL);
    }
    assert_int_equal (err, EIO);
    assert_int_equal (blkhash_leaves_fold (l, md, NULL), EIO);
    blkhash_leaves_free (l);
  }
  bad_byte = -1;
}

/* The leaf of a short last block of zeros is hashed only for the first run with
 * that block.  If this fails, the error is sticky.
 */
static void
test_put_run_hashes_once (void **state)
{
  static const unsigned char leaves[2][32] = { { 1 }, { 2 } };
  const struct blkhash_manifest_run full = {
    .count = 2, .leaves = leaves[0], .leaf_size = 32
  };
  const struct blkhash_manifest_run end = {
    .first = 2, .count = 1, .leaves = leaves[0], .leaf_size = 32
  };
  struct blkhash_leaves *l = blkhash_leaves_new (NULL, 2 * 65536 + 1, 0);
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  (void) state;
  assert_int_equal (blkhash_leaves_put_run (l, &end), 0);
  no_leaf_of_zeros = true;
  assert_int_equal (blkhash_leaves_put_run (l, &full), 0);
  assert_int_equal (blkhash_leaves_put_run (l, &end), 0);
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
  blkhash_leaves_free (l);

  l = blkhash_leaves_new (NULL, 2 * 65536 + 1, 0);
  assert_int_equal (blkhash_leaves_put_run (l, &full), 0);
  assert_int_equal (blkhash_leaves_put_run (l, &end), ENOMEM);
  no_leaf_of_zeros = false;
  assert_int_equal (blkhash_leaves_put_run (l, &end), ENOMEM);
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), ENOMEM);
  blkhash_leaves_free (l);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_create),
    cmocka_unit_test (test_failed_aio_update),
    cmocka_unit_test (test_failed_zero),
    cmocka_unit_test (test_bad_block),
    cmocka_unit_test (test_no_leaf_of_zeros),
    cmocka_unit_test (test_reap_one_by_one),
    cmocka_unit_test (test_no_threads),
    cmocka_unit_test (test_null_buffer),
    cmocka_unit_test (test_no_sum),
    cmocka_unit_test (test_leaf_table_error_sticks),
    cmocka_unit_test (test_leaf_table_error_while_told),
    cmocka_unit_test (test_put_run_hashes_once),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
