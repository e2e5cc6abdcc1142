/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: repaired blocks are written to the plugin, which checks every
 * write: it must be the right content of a block that is bad at that moment.
 * test-verify-repair.c does the same with random damage.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/common/zero.h"
#include "test-repair-disk.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/params.h"

/* ---- Memory ---- */

static bool is_stale;           /* new memory has the content of block 1 */

void *__wrap_malloc (size_t len);
void *__real_malloc (size_t len);

void *
__wrap_malloc (size_t len)
{
  void *memory = __real_malloc (len);

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
    else
      assert_string_equal (last_error, "blkhash-verify: 4096 bytes at 4096 are "
                           "bad, and were repaired in flight");
    assert_int_equal (state_of (1), i == WRITE ? BLOCK_GOOD : BLOCK_IN_FLIGHT);
    assert_int_equal (the_tally ()->repaired, i == WRITE);
    assert_int_equal (writes[1], 1);
    /* It is not written again.  It does not become good, even if the plugin
     * returns the right content: with FLUSH_FAILS that may come from the page
     * cache.
     */
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    assert_null (check_read_at (handle, size, 0));
    assert_int_equal (state_of (1), i == WRITE ? BLOCK_GOOD : BLOCK_IN_FLIGHT);
    assert_int_equal (writes[1], 1);
    assert_int_equal (errors, i == WRITE ? 1 : 2);
    end_client (handle);
  }
}

/* Writes that fail count as well.  Once the limit is reached, this is logged
 * once, and further bad blocks are repaired only in flight.
 */
static void
test_limit (void **state)
{
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
  assert_null (check_read_at (handle, BLOCK, 2 * BLOCK));
  assert_int_equal (writes[2], 0);
  assert_int_equal (state_of (2), BLOCK_IN_FLIGHT);
  assert_true (the_tally ()->limit_reached);
  /* The failed write, the states of two blocks, and the limit. */
  assert_int_equal (errors, 4);
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

/* If no block of data is good, only FREE_WRITES blocks are written, unless the
 * limit is 100%.  Good blocks that must be zero do not allow more writes.
 */
static void
test_wrong_disk (void **state)
{
  static const char *const limits[] = { "99.999999%", "100%" };
  unsigned i, k;

  (void) state;
  for (i = 0; i < 2; i++) {
    uint64_t total = 0, data = 0;
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
    for (k = 0; k < 3; k++)
      assert_null (check_read_at (handle, size, 0));
    for (k = 0; k < MAX_BLOCKS; k++)
      total += writes[k];
    assert_int_equal (total, i == 0 ? 8 : data);
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
  static const int errors_of[] = { EIO, ENODATA, ESHUTDOWN, ENOTCONN, ENOMEM };
  unsigned i;

  (void) state;
  for (i = 0; i < sizeof errors_of / sizeof errors_of[0]; i++) {
    void *handle;

    make_bad_disk ();
    unreadable[1] = true;
    read_error = errors_of[i];
    handle = start_client ();
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    assert_int_equal (writes[1], i < 2);
    assert_int_equal (state_of (1), i < 2 ? BLOCK_GOOD : BLOCK_IN_FLIGHT);
    end_client (handle);
  }
}

/* Without multi-conn, a connection need not see what another connection writes,
 * so only one connection at a time may write.
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

/* If a read of the plugin stores nothing, what was in the buffer before is not
 * mistaken for the content of the plugin.
 */
static void
test_empty_reads (void **state)
{
  unsigned i;

  (void) state;
  for (i = 3; i <= 4; i++) {    /* the reads before and after the write */
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

static int
preconnected (nbdkit_backend *nxdata, int readonly)
{
  (void) nxdata; (void) readonly;
  return 0;
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
  assert_string_equal (last_error, "blkhash-verify-repair-write: clients can "
                       "use only the export \"\"");
  handle = open_export ("");
  can_write = 0;
  assert_int_equal (filter->prepare (&plugin.next, handle, 0), -1);
  assert_string_equal (last_error, "blkhash-verify-repair-write: the plugin "
                       "cannot write");
  can_write = 1;
  plugin.min = 2 * BLOCK;
  assert_int_equal (filter->prepare (&plugin.next, handle, 0), -1);
  assert_string_equal (last_error, "blkhash-verify-repair-write: the blocks of "
                       "the manifest, 4096 bytes, are not multiples of those "
                       "that the plugin writes, 8192 bytes");
  plugin.min = 0;
  assert_int_equal (filter->can_write (&plugin.next, handle), 0);
  end_client (handle);

  /* Without the parameter, all of this is allowed. */
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
 * within a minimum block of the plugin.  It is not written, because the bytes
 * after it must not be written.
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
    cmocka_unit_test (test_good_meanwhile),
    cmocka_unit_test (test_refused),
    cmocka_unit_test (test_short_last_block),
  };

  seed = get_seed ();
  return cmocka_run_group_tests (tests, set_up, tear_down);
}
