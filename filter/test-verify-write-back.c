/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: repaired blocks are written to the plugin.  The plugin,
 * test-repair-disk.c, checks that every write is the right content of a block
 * that is bad at that moment.  test-verify-repair.c tests the same with random
 * damage.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/zero.h"
#include "../lib/construction/leaf.h"
#include "test-repair-disk.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/params.h"

/* ---- Memory ---- */

static bool is_stale;           /* memory that malloc returns for a block has
                                 * the right content of block 1, as if this was
                                 * left in it by an earlier use */
static unsigned malloc_fails;   /* which of the next mallocs of the size of a
                                 * block fails; 0: none */
static unsigned any_malloc_fails; /* the same for mallocs of any size */

void *__wrap_malloc (size_t len);
void *__real_malloc (size_t len);

void *
__wrap_malloc (size_t len)
{
  void *memory;

  if ((len == BLOCK && malloc_fails > 0 && --malloc_fails == 0) ||
      (any_malloc_fails > 0 && --any_malloc_fails == 0)) {
    errno = ENOMEM;
    return NULL;
  }
  memory = __real_malloc (len);
  if (memory && is_stale && len == BLOCK)
    memcpy (memory, truth + BLOCK, len);
  return memory;
}

/* ---- Tests ---- */

/* A block whose write fails is still served, but does not become good. */
static void
test_failing_writes (void **state)
{
  static const char *const messages[] = {
    [WRITE] = "blkhash-verify: 4096 bytes at 4096 were bad, and were repaired",
    [WRITE_FAILS] = "blkhash-verify: 4096 bytes at 4096 cannot be written: No "
                    "space left on device",
    [WRITE_IS_LOST] = "blkhash-verify: 4096 bytes at 4096 were written, but "
                      "are still bad",
    [FLUSH_FAILS] = "blkhash-verify: 4096 bytes at 4096 cannot be written: "
                    "Input/output error",
  };
  unsigned i;

  (void) state;
  for (i = WRITE; i <= FLUSH_FAILS; i++) {
    void *handle;

    make_bad_disk ();
    write_kind = i;
    handle = start_client ();
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    assert_int_equal (errors, i == WRITE ? 1 : 2);
    if (i == WRITE)
      assert_string_equal (last_error, messages[i]);
    else {
      assert_string_equal (previous_error, messages[i]);
      assert_string_equal (last_error, "blkhash-verify: 4096 bytes at 4096 are "
                           "bad, and were repaired in flight");
    }
    assert_int_equal (state_of (1), i == WRITE ? BLOCK_GOOD : BLOCK_IN_FLIGHT);
    assert_int_equal (the_tally ()->repaired, i == WRITE);
    assert_int_equal (the_tally ()->failed_writes, i != WRITE);
    assert_int_equal (writes[1], 1);
    /* The block is not written again.  After a failure it does not become good,
     * even if the plugin returns the right content: with FLUSH_FAILS that
     * content may come from the page cache.
     */
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    assert_null (check_read_at (handle, size, 0));
    assert_int_equal (state_of (1), i == WRITE ? BLOCK_GOOD : BLOCK_IN_FLIGHT);
    assert_int_equal (writes[1], 1);
    assert_int_equal (errors, i == WRITE ? 1 : 2);
    end_client (handle);
  }
}

/* Writes that fail count towards the limit, too, and the message says so.  Bad
 * blocks that are not written because of the limit are repaired only in flight;
 * that the limit was reached is logged once.
 */
static void
test_limit (void **state)
{
  char expected[300];
  unsigned i;
  void *handle;

  (void) state;
  make_bad_disk ();
  plugin.bytes[2 * BLOCK] = 55;
  limit = "34%";
  write_kind = WRITE_FAILS;
  handle = start_client ();
  assert_int_equal (exports_first_locked ()->disk->data_blocks, 3);
  for (i = 0; i < 3; i++)
    assert_null (check_read_at (handle, BLOCK, BLOCK));
  assert_int_equal (writes[1], 1);
  for (i = 0; i < 2; i++)
    assert_null (check_read_at (handle, BLOCK, 2 * BLOCK));
  assert_int_equal (writes[2], 0);
  assert_int_equal (state_of (2), BLOCK_IN_FLIGHT);
  assert_true (the_tally ()->limit_reached);
  /* Logged: the failed write, two blocks repaired in flight, and the limit. */
  assert_int_equal (errors, 4);
  sprintf (expected, "blkhash-verify: blkhash-verify-repair-limit limits the "
           "number of writes, failed ones included, to 1: bad blocks are only "
           "repaired in flight, and the disk may not be that of %s",
           exports_first_locked ()->disk->path);
  assert_string_equal (previous_error, expected);
  end_client (handle);

  /* A limit above 0% allows at least one write. */
  make_bad_disk ();
  plugin.bytes[2 * BLOCK] = 55;
  limit = "0.000001%";
  handle = start_client ();
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (writes[1] + writes[2], 1);
  end_client (handle);
}

static unsigned
count_writes (void)
{
  unsigned total = 0, i;

  for (i = 0; i < MAX_BLOCKS; i++)
    total += writes[i];
  return total;
}

/* Unless the limit is 100%, the first 8 writes (FREE_WRITES) are free, and each
 * good block of data allows more; a good block of zeros does not.  Here all
 * blocks of data are bad.
 */
static void
test_wrong_disk (void **state)
{
  static const char *const limits[] = { "99.999999%", "100%" };
  unsigned i, k;

  (void) state;
  for (i = 0; i < 2; i++) {
    uint64_t data = 0;
    void *handle;

    make_truth (MAX_BLOCKS * BLOCK);
    for (k = 0; k < MAX_BLOCKS; k++)
      if (!is_zero (truth + k * BLOCK, BLOCK)) {
        plugin.bytes[k * BLOCK + 5] ^= 1;
        data++;
      }
    assert_true (data > 10);
    write_file (source_paths[0], truth, size);
    memset (in_source, true, sizeof in_source);
    nr_sources = 1;
    is_writing = read_zeros = true;
    limit = limits[i];
    handle = start_client ();
    for (k = 0; k < 3; k++) {
      assert_null (check_read_at (handle, size, 0));
      assert_int_equal (count_writes (), i == 0 ? 8 : data);
    }
    assert_int_equal (the_tally ()->limit_reached, i == 0);
    end_client (handle);
  }
}

/* A block that cannot be read is written only if the error comes from the
 * storage.
 */
static void
test_unreadable (void **state)
{
  static const int errors_of[] = {
    EIO, EILSEQ, ENODATA,
#ifdef EREMOTEIO
    EREMOTEIO,
#endif
    ESHUTDOWN, ENOTCONN, ENOMEM,
  };
  /* The last three errors do not come from the storage. */
  const unsigned others = sizeof errors_of / sizeof errors_of[0] - 3;
  unsigned i;

  (void) state;
  for (i = 0; i < sizeof errors_of / sizeof errors_of[0]; i++) {
    void *handle;

    make_bad_disk ();
    unreadable[1] = true;
    read_error = errors_of[i];
    handle = start_client ();
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    assert_int_equal (writes[1], i < others);
    assert_int_equal (state_of (1), i < others ? BLOCK_GOOD
                      : BLOCK_UNREADABLE_IN_FLIGHT);
    end_client (handle);
  }
}

/* Without multi-conn, a connection need not see what another connection writes,
 * so only one connection at a time may write: one that is opened when no other
 * may write.  The others repair blocks only in flight.
 */
static void
test_connections (void **state)
{
  void *first, *second;

  (void) state;
  make_bad_disk ();
  plugin.bytes[2 * BLOCK] = 55;
  plugin.multi_conn = 0;
  start_server ();
  first = connect_client ();
  second = connect_client ();
  assert_int_equal (filter->can_multi_conn (&plugin.next, first), 0);
  assert_null (check_read_at (second, BLOCK, BLOCK));
  filter->close (second);
  second = connect_client ();
  assert_null (check_read_at (second, BLOCK, BLOCK));
  assert_int_equal (writes[1], 0);
  assert_int_equal (state_of (1), BLOCK_IN_FLIGHT);
  assert_null (check_read_at (first, BLOCK, BLOCK));
  assert_int_equal (writes[1], 1);
  filter->close (first);
  assert_null (check_read_at (second, BLOCK, 2 * BLOCK));
  assert_int_equal (writes[2], 0);
  filter->close (second);
  first = connect_client ();
  assert_null (check_read_at (first, BLOCK, 2 * BLOCK));
  assert_int_equal (writes[2], 1);
  filter->close (first);
  stop_server ();
}

/* If a read from the plugin succeeds but stores nothing in the buffer, what was
 * in the buffer before is not mistaken for the content of the plugin.
 */
static void
test_empty_reads (void **state)
{
  unsigned i;

  (void) state;
  for (i = 3; i <= 4; i++) {    /* number of the first read that stores nothing:
                                 * 3 is just before the write, 4 after it */
    void *handle;

    make_bad_disk ();
    write_kind = WRITE_IS_LOST;
    empty_after = i;
    handle = start_client ();
    is_stale = true;
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    is_stale = false;
    assert_int_equal (writes[1], 1);
    assert_int_equal (state_of (1), BLOCK_IN_FLIGHT);
    assert_int_equal (the_tally ()->repaired, 0);
    end_client (handle);
  }
}

/* If a malloc fails, the bad block is not repaired, or is repaired only in
 * flight.
 */
static void
test_memory (void **state)
{
  unsigned i;

  (void) state;
  for (i = 1; i <= 2; i++) {
    unsigned char buf[BLOCK];
    void *handle;

    make_bad_disk ();
    handle = start_client ();
    assert_null (check_read_at (handle, BLOCK, 0)); /* caches the manifest */
    malloc_fails = i;
    assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), i == 1 ? -1 : 0);
    assert_int_equal (malloc_fails, 0);
    assert_int_equal (writes[1], 0);
    assert_int_equal (state_of (1), i == 1 ? BLOCK_BAD : BLOCK_IN_FLIGHT);
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    assert_int_equal (writes[1], 1);
    assert_int_equal (state_of (1), BLOCK_GOOD);
    end_client (handle);
  }
}

/* If a malloc fails, a read fails or returns the right content. */
static void
test_read_without_memory (void **state)
{
  static const struct { uint32_t count; uint64_t offset; } ranges[] = {
    { BLOCK, 0 }, { 2 * BLOCK, 0 }, { 10, 5 }, { 10, BLOCK + 5 },
    { 2 * BLOCK, BLOCK / 2 }
  };
  unsigned i, call;
  bool failed;

  (void) state;
  for (i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
    for (call = 1, failed = true; failed; call++) {
      unsigned char buf[2 * BLOCK];
      void *handle;

      make_bad_disk ();
      handle = start_client ();
      any_malloc_fails = call;
      if (read_range (handle, buf, ranges[i].count, ranges[i].offset) == 0)
        assert_memory_equal (buf, truth + ranges[i].offset, ranges[i].count);
      else
        assert_int_equal (any_malloc_fails, 0);
      failed = any_malloc_fails == 0;
      any_malloc_fails = 0;
      assert_true (failed || call > 1);
      assert_null (check_read_at (handle, ranges[i].count, ranges[i].offset));
      end_client (handle);
    }
}

/* ---- Hashing ---- */

static unsigned hash_fails;     /* which of the next calls of leaf_batch whose
                                 * first block is whole fails; 0: none */

int __real_leaf_batch (struct leaf_engine *engine, struct leaf_block *hashed,
                       size_t count);
int __wrap_leaf_batch (struct leaf_engine *engine, struct leaf_block *hashed,
                       size_t count);

int
__wrap_leaf_batch (struct leaf_engine *engine, struct leaf_block *hashed,
                   size_t count)
{
  if (hashed->len == BLOCK && hash_fails > 0 && --hash_fails == 0)
    return ENOMEM;
  return __real_leaf_batch (engine, hashed, count);
}

/* A read whose hash fails proves neither that the block is good nor that it is
 * bad.  A bad block is hashed five times: after the first read, the retry, the
 * read from the source, the read before the write, and the read after it.  Each
 * of these hashes fails in turn.
 */
static void
test_hashing (void **state)
{
  unsigned i;

  (void) state;
  for (i = 1; i <= 5; i++) {
    unsigned char buf[BLOCK];
    void *handle;
    int err = 0, r;

    make_bad_disk ();
    handle = start_client ();
    hash_fails = i;
    r = filter->pread (&plugin.next, handle, buf, BLOCK, BLOCK, 0, &err);
    assert_int_equal (hash_fails, 0);
    assert_int_equal (r, i <= 3 ? -1 : 0);
    assert_int_equal (err, i <= 2 ? ENOMEM : i == 3 ? EIO : 0);
    assert_int_equal (writes[1], i == 5);
    assert_int_equal (state_of (1), i <= 2 ? BLOCK_NOT_READ :
                      i == 3 ? BLOCK_BAD : BLOCK_IN_FLIGHT);
    assert_int_equal (the_tally ()->repaired, 0);
    /* If the hash after the write failed (5), the content on the plugin is
     * unknown, and the block is not written again.  Otherwise it is written
     * now.
     */
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    assert_int_equal (writes[1], 1);
    assert_int_equal (state_of (1), i == 5 ? BLOCK_IN_FLIGHT : BLOCK_GOOD);
    end_client (handle);
  }
}

/* A block that becomes good on the plugin after it was found to be bad is not
 * written.
 */
static void
test_good_meanwhile (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  good_after = 3;               /* the read before the write is the third */
  handle = start_client ();
  assert_null (check_read_at (handle, BLOCK, BLOCK));
  assert_int_equal (good_after, 0);
  assert_int_equal (writes[1], 0);
  assert_int_equal (state_of (1), BLOCK_GOOD);
  assert_int_equal (the_tally ()->repaired, 0);
  end_client (handle);
}

/* ---- Threads ---- */

static atomic_uint waits, holds, ends;
static atomic_bool is_released;
static pthread_t main_thread;
static int (*pwrite_plugin) (nbdkit_next *, const void *, uint32_t, uint64_t,
                             uint32_t, int *);

int __real_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *mutex);

int
__wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *mutex)
{
  assert (is_released || !pthread_equal (pthread_self (), main_thread));
  waits++;
  return __real_pthread_cond_wait (cond, mutex);
}

static int
held_pwrite (nbdkit_next *next, const void *buf, uint32_t len, uint64_t offset,
             uint32_t flags, int *err)
{
  holds += offset == BLOCK;
  while (offset == BLOCK && !is_released)
    usleep (100);
  return pwrite_plugin (next, buf, len, offset, flags, err);
}

static void *
read_block_1 (void *handle)
{
  const char *wrong = check_read_at (handle, BLOCK, BLOCK);

  ends++;
  return (void *) wrong;
}

/* Wait until threads were held in held_pwrite, began to wait for a repair, or
 * ended, COUNT times in total.  If that never happens, the test fails after a
 * minute.
 */
static void
wait_for (unsigned count)
{
  unsigned i;

  for (i = 0; holds + waits + ends < count && i < 600000; i++)
    usleep (100);
  assert_true (holds + waits + ends >= count);
}

static void
run_same_block (unsigned retry)
{
  pthread_t threads[3];
  unsigned i;
  void *handle;

  make_bad_disk ();
  plugin.bytes[2 * BLOCK] = 55;
  pwrite_plugin = plugin.next.pwrite;
  plugin.next.pwrite = held_pwrite;
  main_thread = pthread_self ();
  holds = waits = ends = 0;
  is_released = false;
  handle = start_client ();
  verify_params.retry = retry;
  for (i = 0; i < 3; i++) {
    assert_int_equal (pthread_create (&threads[i], NULL, read_block_1, handle),
                      0);
    wait_for (i + 1);
  }
  assert_int_equal (holds, 1);
  assert_int_equal (waits, 2);
  /* The end of the repair of block 2 wakes both threads that wait for block 1,
   * and they wait again.
   */
  assert_null (check_read_at (handle, BLOCK, 2 * BLOCK));
  assert_int_equal (writes[2], 1);
  wait_for (5);
  is_released = true;
  for (i = 0; i < 3; i++) {
    void *wrong;

    pthread_join (threads[i], &wrong);
    assert_null (wrong);
  }
  assert_int_equal (writes[1], 1);
  assert_int_equal (the_tally ()->transient, 2 * retry);
  assert_int_equal (the_tally ()->repaired, 2);
  assert_int_equal (state_of (1), BLOCK_GOOD);
  end_client (handle);
}

/* While a block is written, other threads that need it wait before they retry
 * it, and then find it good.  Without retries they wait before they repair it.
 * Another block is repaired meanwhile.
 */
static void
test_same_block (void **state)
{
  (void) state;
  run_same_block (1);
  run_same_block (0);
}

/* ---- Connections ---- */

static int
preconnected (nbdkit_backend *nxdata, int readonly)
{
  (void) nxdata; (void) readonly;
  return 0;
}

static int
failing (nbdkit_next *next)
{
  (void) next;
  return -1;
}

/* A connection is refused if the plugin fails to say what it can do. */
static void
test_unknown (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < 4; i++) {
    void *handle;

    make_bad_disk ();
    start_server ();
    *(i == 0 ? &plugin.next.can_write : i == 1 ? &plugin.next.can_flush :
      i == 2 ? &plugin.next.can_fua : &plugin.next.can_multi_conn) = failing;
    handle = open_export ("");
    assert_int_equal (filter->prepare (&plugin.next, handle, 0), -1);
    assert_int_equal (errors, 0);
    end_client (handle);
  }
}

/* A connection on which blocks cannot be written is refused. */
static void
test_refused (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  start_server ();
  assert_int_equal (filter->preconnect (preconnected, NULL, 0), 0);
  assert_int_equal (filter->preconnect (preconnected, NULL, 1), -1);
  assert_string_equal (last_error, "blkhash-verify-repair-write: nbdkit was "
                       "started with -r, read-only");
  assert_null (open_export ("x"));
  assert_non_null (strstr (last_error, "clients can use only the export "));
  handle = open_export ("");
  can_write = 0;
  assert_int_equal (filter->prepare (&plugin.next, handle, 0), -1);
  assert_string_equal (last_error, "blkhash-verify-repair-write: the plugin "
                       "cannot write");
  can_write = 1;
  plugin.min = 2 * BLOCK;
  assert_int_equal (filter->prepare (&plugin.next, handle, 0), -1);
  assert_string_equal (last_error, "blkhash-verify-repair-write: the block "
                       "size of the manifest, 4096 bytes, is not a multiple "
                       "of the minimum block size of the plugin, 8192 bytes");
  plugin.min = 0;
  assert_int_equal (filter->can_write (&plugin.next, handle), 0);
  end_client (handle);

  /* Without blkhash-verify-repair-write, nbdkit -r, other export names, and a
   * plugin that cannot write are allowed.
   */
  make_bad_disk ();
  is_writing = false;
  can_write = 0;
  start_server ();
  assert_int_equal (filter->preconnect (preconnected, NULL, 1), 0);
  handle = open_export ("x");
  assert_int_equal (filter->prepare (&plugin.next, handle, 1), 0);
  end_client (handle);
}

/* With blkhash-verify-size=truncate, the last block of the manifest can end
 * within a minimum block of the plugin.  Then this last block is not written,
 * because the rest of the minimum block is not in the manifest.
 */
static void
test_short_last_block (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  size -= 1000;
  write_manifest ();
  plugin.bytes[2 * BLOCK] = 55;
  plugin.min = 512;
  start_server ();
  verify_params.truncate = true;
  handle = connect_client ();
  assert_non_null (handle);
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (writes[1], 1);
  assert_int_equal (writes[2], 0);
  assert_int_equal (state_of (2), BLOCK_IN_FLIGHT);
  end_client (handle);
}

/* A short last block at the end of the plugin's disk is written, even if its
 * size is not a multiple of the plugin's minimum block size.
 */
static void
test_end_of_disk (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  size = plugin.size -= 1000;
  write_manifest ();
  write_file (source_paths[0], truth, size);
  plugin.bytes[2 * BLOCK] = 55;
  plugin.min = 512;
  handle = start_client ();
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (writes[2], 1);
  assert_int_equal (state_of (2), BLOCK_GOOD);
  end_client (handle);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_failing_writes),
    cmocka_unit_test (test_limit),
    cmocka_unit_test (test_wrong_disk),
    cmocka_unit_test (test_unreadable),
    cmocka_unit_test (test_connections),
    cmocka_unit_test (test_empty_reads),
    cmocka_unit_test (test_memory),
    cmocka_unit_test (test_read_without_memory),
    cmocka_unit_test (test_hashing),
    cmocka_unit_test (test_good_meanwhile),
    cmocka_unit_test (test_same_block),
    cmocka_unit_test (test_unknown),
    cmocka_unit_test (test_refused),
    cmocka_unit_test (test_short_last_block),
    cmocka_unit_test (test_end_of_disk),
  };

  seed = get_seed ();
  return cmocka_run_group_tests (tests, set_up, tear_down);
}
