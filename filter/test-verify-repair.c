/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: repair of bad blocks from files, compared with a model.
 *
 * The plugin's disk and up to three sources are damaged at random.  A source
 * can also be shorter, longer, or a disk of zeros.  A request must succeed,
 * with the right content, if each of its blocks is good on the plugin or in a
 * source, and must fail otherwise.  With blkhash-verify-repair-write, only bad
 * blocks are written, and no more of them than blkhash-verify-repair-limit
 * allows.  The test prints its seed.  BLKHASH_SEED and BLKHASH_ROUNDS can set
 * the seed and the number of rounds.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "../lib/common/zero.h"
#include "test-repair-disk.h"
#include "verify/params.h"

#define THREADS 4

static unsigned rounds = 150;

/* ---- Random disks ---- */

/* Change a bit of about one in N blocks; some of these also become unreadable.
 */
static void
damage_plugin (unsigned n)
{
  uint64_t i;

  for (i = 0; i < blocks; i++)
    if (any (n) == 0) {
      unreadable[i] = any (3) == 0;
      plugin.bytes[i * BLOCK + any (size_of (i))] ^= 1 << any (8);
    }
}

/* Make a damaged source.  It can also be a disk of zeros, too short or too
 * long.
 */
static void
make_source (unsigned number)
{
  unsigned char *bytes = calloc (1, size + 2 * BLOCK);
  unsigned n = 1 + any (4);
  uint64_t len = any (3) ? size : any (size + 2 * BLOCK), i;

  if (any (5))
    memcpy (bytes, truth, size);
  for (i = 0; i < blocks; i++)
    if (any (n) == 0)
      bytes[i * BLOCK + any (size_of (i))] ^= 1 << any (8);
  for (i = 0; i < blocks; i++)
    in_source[number][i] = i * BLOCK + size_of (i) <= len &&
      memcmp (bytes + i * BLOCK, truth + i * BLOCK, size_of (i)) == 0;
  write_file (source_paths[number], bytes, len);
  free (bytes);
}

static void *
read_at_random (void *opaque)
{
  unsigned *s = opaque, i;
  void *handle = connect_client ();
  const char *wrong = NULL;

  for (i = 0; i < 20 && !wrong; i++) {
    uint64_t len = 1 + any_of (s, any_of (s, 3) ? MIN (3 * BLOCK, size) : size);

    wrong = check_read_at (handle, len, any_of (s, size - len + 1));
  }
  for (i = 0; i < blocks && !wrong; i++)
    wrong = check_read_at (handle, size_of (i), i * BLOCK);
  filter->finalize (&plugin.next, handle);
  filter->close (handle);
  return (void *) wrong;
}

static void
run_clients (unsigned count)
{
  pthread_t threads[THREADS];
  unsigned seeds[THREADS], i;

  for (i = 0; i < count; i++) {
    seeds[i] = seed + i;
    assert_int_equal (pthread_create (&threads[i], NULL, read_at_random,
                                      &seeds[i]), 0);
  }
  for (i = 0; i < count; i++) {
    void *wrong;

    pthread_join (threads[i], &wrong);
    if (wrong)
      fail_msg ("%s: %s", (const char *) wrong, last_error);
  }
}

static bool
is_skipped (uint64_t block)
{
  return !read_zeros && is_zero (truth + block * BLOCK, size_of (block));
}

/* Returns how many writes LIMIT permits in all. */
static uint64_t
get_limit (void)
{
  uint64_t data = 0, i;

  for (i = 0; i < blocks; i++)
    data += !is_zero (truth + i * BLOCK, size_of (i));
  return strcmp (limit, "0%") == 0 ? 0 : MAX (data * atoi (limit) / 100, 1u);
}

/* With a limit of less than 100%, the filter also limits the writes by the
 * number of good blocks that it has read so far (see get_limit of
 * write-back.c).  The order of the reads is random, so only a minimum and a
 * maximum of REPAIRED are known.  8 writes (FREE_WRITES) need no good blocks.
 */
static void
check_limit (uint64_t repaired, uint64_t repairable)
{
  uint64_t most = MIN (repairable, get_limit ());

  assert_true (repaired <= most);
  if (strcmp (limit, "100%") == 0)
    assert_int_equal (repaired, most);
  else
    assert_true (repaired >= MIN (most, 8u));
}

/* Check the states after all blocks were read.  Before that, the blocks in
 * WAS_GOOD were good on the plugin, and those in WAS_SERVED could be served.
 */
static void
check_states (const bool *was_good, const bool *was_served)
{
  uint64_t i, repaired = 0, repairable = 0;

  for (i = 0; i < blocks; i++) {
    if (is_skipped (i))
      assert_int_equal (writes[i], 0);
    else if (was_good[i] || writes[i] > 0)
      assert_int_equal (state_of (i), BLOCK_GOOD);
    else if (was_served[i])
      assert_int_equal (state_of (i), unreadable[i]
                        ? BLOCK_UNREADABLE_IN_FLIGHT : BLOCK_IN_FLIGHT);
    else
      assert_true (state_of (i) == BLOCK_BAD ||
                   state_of (i) == BLOCK_UNREADABLE);
    if (is_skipped (i))
      continue;
    assert_true (writes[i] <= (is_writing && !was_good[i] && was_served[i]));
    assert_int_equal (is_good_locked (i), was_good[i] || writes[i] > 0);
    repairable += is_writing && !was_good[i] && was_served[i];
    repaired += writes[i] > 0;
  }
  check_limit (repaired, repairable);
  assert_int_equal (the_tally ()->repaired, repaired);
  assert_int_equal (the_tally ()->writes, repaired);
  if (repaired < repairable)
    assert_true (the_tally ()->limit_reached);
  assert_int_equal (unflushed, 0);
}

static void
run_round (unsigned clients)
{
  static const char *const limits[] = { "100%", "100%", "30%", "1%", "0%" };
  bool was_good[MAX_BLOCKS], was_served[MAX_BLOCKS];
  uint64_t i;

  make_truth (1 + any (MAX_BLOCKS * BLOCK - 1));
  damage_plugin (1 + any (4));
  nr_sources = any (5) ? 1 + any (SOURCES) : 0;
  for (i = 0; i < nr_sources; i++)
    make_source (i);
  read_zeros = any (2);
  is_writing = nr_sources > 0 && any (2);
  limit = limits[any (sizeof limits / sizeof limits[0])];
  if (any (3) == 0)
    plugin.max = plugin.min = 1024;
  if (any (4) == 0) {
    can_flush = 0;
    can_fua = any (2) ? NBDKIT_FUA_NATIVE : NBDKIT_FUA_NONE;
  }
  for (i = 0; i < blocks; i++) {
    was_good[i] = is_good_locked (i);
    was_served[i] = is_served (i);
  }
  start_server ();
  run_clients (clients);
  if (can_flush == 0 && can_fua == NBDKIT_FUA_NONE)
    unflushed = 0;
  check_states (was_good, was_served);
  stop_server ();
}

static void
test_random (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < rounds; i++)
    run_round (1);
}

static void
test_threads (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < rounds / 3; i++)
    run_round (THREADS);
}

/* ---- Repair in flight ---- */

/* A bad block is read again up to three times until it is good.  If it is still
 * bad then, it is read from the source.
 */
static void
test_retry (void **state)
{
  unsigned i;

  (void) state;
  for (i = 1; i <= 5; i++) {
    void *handle;

    make_bad_disk ();
    is_writing = false;
    good_after = i;
    handle = start_client ();
    verify_params.retry = 3;
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    assert_int_equal (reads, MIN (i, 4u));
    assert_int_equal (state_of (1), i <= 4 ? BLOCK_GOOD : BLOCK_IN_FLIGHT);
    assert_int_equal (the_tally ()->transient, i > 1 && i <= 4);
    end_client (handle);
  }
}

/* If the plugin does not answer, each request costs only a few timeouts,
 * however many blocks the request reads.
 */
static void
test_no_answer (void **state)
{
  /* At most, for 39 or 40 blocks: seven reads, of all, 20, 10, 5, 3, 2 and 1
   * blocks; reads of three more single blocks; and a retry of each of the four
   * single blocks.
   */
  const unsigned most = 7 + 3 + 4;
  unsigned k;
  void *handle;

  (void) state;
  make_truth (MAX_BLOCKS * BLOCK);
  for (k = 0; k < MAX_BLOCKS; k++)
    truth[k * BLOCK] = 1 + k;
  write_manifest ();
  memcpy (plugin.bytes, truth, size);
  memset (unreadable, true, sizeof unreadable);
  write_file (source_paths[0], truth, 39 * BLOCK);
  memset (in_source, true, sizeof in_source);
  in_source[0][39] = false;
  nr_sources = 1;
  is_writing = read_zeros = false;
  handle = start_client ();
  assert_null (check_read_at (handle, 39 * BLOCK, 0));
  assert_in_range (reads, 1, most);
  for (k = 0; k < 40; k++)
    assert_int_equal (state_of (k), k < 4 ? BLOCK_UNREADABLE_IN_FLIGHT
                      : BLOCK_NOT_READ);
  reads = 0;
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (state_of (39), BLOCK_UNREADABLE);
  assert_in_range (reads, 1, most + 2);
  {
    SCOPED_LOCK (&lock);

    unreadable[39] = false;
  }
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (state_of (39), BLOCK_GOOD);
  end_client (handle);
}

/* If the sources were not read because the client is gone or nbdkit is ending,
 * the disk is not stopped for other clients.
 */
static void
test_ending (void **state)
{
  unsigned char buf[BLOCK];
  void *handle;

  (void) state;
  make_bad_disk ();
  is_writing = false;
  handle = start_client ();
  verify_params.fail = FAIL_STOP;
  is_ending = true;
  assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), -1);
  is_ending = false;
  assert_null (check_read_at (handle, BLOCK, 0));
  assert_null (check_read_at (handle, BLOCK, BLOCK));
  end_client (handle);
}

/* Whether or not there is a source, the disk is also not stopped if the plugin,
 * or a filter below, fails to read because the client is gone or nbdkit is
 * ending.  If the read fails for another reason, the disk is stopped.
 */
static void
test_ending_plugin (void **state)
{
  unsigned char buf[BLOCK];
  unsigned i;

  (void) state;
  for (i = 0; i < 4; i++) {
    bool ends = i < 2;
    void *handle;

    make_bad_disk ();
    is_writing = false;
    unreadable[1] = true;
    read_error = ESHUTDOWN;
    nr_sources = i % 2;
    in_source[0][1] = false;
    write_file (source_paths[0], truth, BLOCK);
    handle = start_client ();
    verify_params.fail = FAIL_STOP;
    is_ending = ends;
    assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), -1);
    is_ending = false;
    assert_int_equal (read_range (handle, buf, BLOCK, 0), ends ? 0 : -1);
    end_client (handle);
  }
}

/* A block that must be zero is repaired without a source. */
static void
test_zeros (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  memset (truth + BLOCK, 0, BLOCK);
  write_manifest ();
  nr_sources = 0;
  read_zeros = true;
  handle = start_client ();
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (writes[1], 1);
  assert_int_equal (state_of (1), BLOCK_GOOD);
  end_client (handle);
}

/* A source is reported once if the first 16 blocks (WRONG_BLOCKS) that are read
 * from it are all wrong, or if it is too small.  It is not reported if only
 * some of these blocks are wrong.
 */
static void
test_wrong_source (void **state)
{
  unsigned k, i;

  (void) state;
  for (i = 0; i < 4; i++) {
    unsigned before;
    void *handle;

    make_truth (20 * BLOCK);
    for (k = 0; k < 20; k++)
      truth[k * BLOCK] = 1 + k;
    write_manifest ();
    memcpy (plugin.bytes, truth, size);
    for (k = 0; k < 20; k++)
      plugin.bytes[k * BLOCK] = 100;
    memset (in_source, 0, sizeof in_source);
    in_source[0][3] = i == 1;
    write_file (source_paths[0], plugin.bytes, size);
    if (i == 1) {
      plugin.bytes[3 * BLOCK] = 4;
      write_file (source_paths[0], plugin.bytes, size);
      plugin.bytes[3 * BLOCK] = 100;
    }
    if (i >= 2)
      write_file (source_paths[0], truth, i == 2 ? BLOCK - 1 : 0);
    nr_sources = 1;
    is_writing = read_zeros = false;
    handle = start_client ();
    verify_params.retry = 0;
    for (k = 0; k < 15; k++)
      check_read_at (handle, BLOCK, k * BLOCK);
    before = errors;
    assert_int_equal (before, i < 2 ? 15 : 16);
    check_read_at (handle, BLOCK, 15 * BLOCK);
    assert_int_equal (errors, before + (i == 0 ? 2 : 1));
    check_read_at (handle, BLOCK, 16 * BLOCK);
    assert_int_equal (errors, before + (i == 0 ? 3 : 2));
    end_client (handle);
  }
}

/* A read of a part of the bad block puts the repaired block in the cache.  The
 * next read of a part of this block finds it there, although the source is
 * empty by then.
 */
static void
test_cached (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  is_writing = false;
  handle = start_client ();
  assert_null (check_read_at (handle, 100, BLOCK));
  assert_int_equal (truncate (source_paths[0], 0), 0);
  assert_null (check_read_at (handle, 100, BLOCK + 50));
  in_source[0][1] = false;
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (state_of (1), BLOCK_BAD);
  end_client (handle);
}

/* With FAIL_WARN, a bad block that no source can repair is served as it was
 * read.
 */
static void
test_warn (void **state)
{
  unsigned char buf[BLOCK];
  void *handle;

  (void) state;
  make_bad_disk ();
  is_writing = false;
  write_file (source_paths[0], truth, BLOCK + 1);
  handle = start_client ();
  verify_params.fail = FAIL_WARN;
  assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), 0);
  assert_memory_equal (buf, plugin.bytes + BLOCK, BLOCK);
  assert_int_equal (state_of (1), BLOCK_BAD);
  end_client (handle);
}

/* With FAIL_WARN, a bad block is not served if a source may have it, but was
 * not read because the client has closed its side of the connection.
 */
static void
test_warn_ending (void **state)
{
  unsigned char buf[BLOCK];
  void *handle;

  (void) state;
  make_bad_disk ();
  is_writing = false;
  handle = start_client ();
  verify_params.fail = FAIL_WARN;
  is_ending = true;
  assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), -1);
  is_ending = false;
  assert_int_equal (state_of (1), BLOCK_BAD);
  assert_null (check_read_at (handle, size, 0));
  end_client (handle);
}

/* With FAIL_STOP, a bad block that a source can repair does not stop the disk.
 */
static void
test_stop (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  is_writing = false;
  handle = start_client ();
  verify_params.fail = FAIL_STOP;
  assert_null (check_read_at (handle, size, 0));
  assert_null (check_read_at (handle, size, 0));
  end_client (handle);
}

int
main (void)
{
  const char *given = getenv ("BLKHASH_ROUNDS"),
    *slow = getenv ("BLKHASH_SLOW");
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_threads),
    cmocka_unit_test (test_retry),
    cmocka_unit_test (test_no_answer),
    cmocka_unit_test (test_ending),
    cmocka_unit_test (test_ending_plugin),
    cmocka_unit_test (test_zeros),
    cmocka_unit_test (test_wrong_source),
    cmocka_unit_test (test_cached),
    cmocka_unit_test (test_warn),
    cmocka_unit_test (test_warn_ending),
    cmocka_unit_test (test_stop),
  };

  seed = get_seed ();
  if (slow && *slow && strcmp (slow, "0") != 0)
    rounds = 5000;
  if (given)
    rounds = strtoul (given, NULL, 10);
  return cmocka_run_group_tests (tests, set_up, tear_down);
}
