/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: blkhash-update, which uses the manifest of an earlier server.
 *
 * The filter empties the manifest before the first change.  Each of the file
 * calls that do this fails in turn.  The plugin, test-plugin.c, aborts if the
 * disk is changed while the manifest is not empty.  If clients only read, the
 * manifest is not written, and is emptied only if what they read differs from
 * it.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include <cmocka.h>

#include "blkhash/export.h"
#include "blkhash/test-locks.h"
#include "blkhash/test-nbdkit.h"
#include "blkhash/test-sums.h"

#define BLOCK 4096
#define SIZE (100 * BLOCK - 7)

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char path[sizeof directory + 5], manifest[sizeof directory + 9];
static uint64_t wrong_at;       /* offset of a byte that differs from the
                                 * manifest; 0: none */

static void
check (bool right)
{
  if (!right)
    abort ();
}

/* Returns the inode of the manifest, or 0 if it is empty or does not exist. */
static ino_t
inode (void)
{
  struct stat st;

  return stat (manifest, &st) == 0 && st.st_size > 0 ? st.st_ino : 0;
}

static bool
result_has (const char *wanted)
{
  char text[1024];
  FILE *f = fopen (path, "r");

  check (f != NULL);
  text[fread (text, 1, sizeof text - 1, f)] = '\0';
  fclose (f);
  return strstr (text, wanted);
}

static void
make_baseline (void)
{
  unsigned i;

  for (i = 0; i < SIZE; i++)
    disk[i] = i / BLOCK % 3 ? i / BLOCK : 0;
  manifest_make (manifest, SIZE, BLOCK);
  if (wrong_at)
    disk[wrong_at]++;
}

static unsigned calls, at;

static int
fail_one (const char *call)
{
  (void) call;
  return calls++ == at ? EIO : 0;
}

/* Run CLIENT in a process with a server that updates the manifest.  Returns the
 * result of CLIENT.
 */
static int
run_server (int (*client) (void), const char *audit)
{
  pid_t pid = fork ();
  int status;

  if (pid == 0) {
    server_on_start = make_baseline;
    server_configure ("blkhash-update", "true");
    server_configure ("blkhash-audit", audit);
    server_start (SIZE, path, manifest, "4096");
    status = client ();
    server_stop ();
    exit (status);
  }
  assert_int_equal (waitpid (pid, &status, 0), pid);
  assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

/* A client writes.  Of the file calls that the filter makes for this write, the
 * one with the number AT fails.  Returns 1 if there is no such call.
 */
static int
write_once (void)
{
  struct client *client = client_open ("a");

  on_file_call = fail_one;
  client_write (client, 'x', 10, 5 * BLOCK, 0);
  on_file_call = NULL;
  client_disconnect (client);
  check (manifest_is_right (manifest, SIZE, BLOCK));
  return calls <= at;
}

static void
test_failed_withdrawal (void **state)
{
  (void) state;
  for (at = 0; run_server (write_once, "0%") == 0; at++)
    ;
  assert_true (at >= 4);
  at = 0;
}

/* The client reads the whole disk, which matches the manifest. */
static int
read_all (void)
{
  struct client *client = client_open ("a");
  ino_t before = inode ();

  check (before != 0 && client_read (client, SIZE, 0) == 0);
  client_disconnect (client);
  server_end ();
  check (inode () == before && !result_has ("# unknown"));
  return 0;
}

/* The client reads too little for an audit. */
static int
read_little (void)
{
  struct client *client = client_open ("a");
  ino_t before = inode ();

  client_read (client, BLOCK, 0);
  client_disconnect (client);
  server_end ();
  check (inode () == before && result_has ("the manifest was not audited"));
  return 0;
}

static bool entropy_fails;

int __real_getentropy (void *buf, size_t len);
int __wrap_getentropy (void *buf, size_t len);

int
__wrap_getentropy (void *buf, size_t len)
{
  if (!entropy_fails)
    return __real_getentropy (buf, len);
  errno = ENOSYS;
  return -1;
}

/* Without random numbers, for example in a container that forbids getrandom, no
 * sample can be chosen.
 */
static int
read_without_entropy (void)
{
  struct client *client = client_open ("a");
  ino_t before = inode ();

  entropy_fails = true;
  check (client_read (client, SIZE, 0) == 0);
  client_disconnect (client);
  check (result_has ("the manifest was not audited") && inode () == before);
  entropy_fails = false;
  return read_all ();
}

static void
test_no_change (void **state)
{
  (void) state;
  assert_int_equal (run_server (read_without_entropy, "0.1%"), 0);
  assert_int_equal (run_server (read_all, "0.1%"), 0);
  assert_int_equal (run_server (read_little, "0.1%"), 0);
}

static void
check_mismatch (void)
{
  char wanted[100];
  uint64_t first = wrong_at - wrong_at % BLOCK, end = first + BLOCK;

  sprintf (wanted, "# unknown a: %u bytes at %u differ from the manifest\n",
           (unsigned) ((end < SIZE ? end : SIZE) - first), (unsigned) first);
  check (inode () == 0 && result_has (wanted));
}

static int
read_wrong (void)
{
  struct client *client = client_open ("a");

  client_read (client, SIZE, 0);
  client_disconnect (client);
  check_mismatch ();
  return 0;
}

static int
write_elsewhere (void)
{
  struct client *client = client_open ("a");

  client_write (client, 'x', 2 * BLOCK, 10 * BLOCK, 0);
  client_disconnect (client);
  check_mismatch ();
  return 0;
}

/* There was no memory to record which blocks clients changed, so a difference
 * does not prove that the manifest is wrong.
 */
static int
read_wrong_unknown (void)
{
  struct client *client = client_open ("a");

  exports_disk_locked ("a")->changed.all = true;
  client_read (client, SIZE, 0);
  client_disconnect (client);
  check (inode () == 0 && result_has ("# unknown a: no memory\n"));
  return 0;
}

/* The wrong block is overwritten before it is read, so nothing is wrong. */
static int
overwrite (void)
{
  struct client *client = client_open ("a");

  client_write (client, 'x', BLOCK, wrong_at / BLOCK * BLOCK, 0);
  client_disconnect (client);
  check (manifest_is_right (manifest, SIZE, BLOCK));
  return 0;
}

static void
test_mismatch (void **state)
{
  static const uint64_t offsets[] = { 1, BLOCK, 50 * BLOCK - 1, SIZE - 1 };
  unsigned i;

  (void) state;
  for (i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
    wrong_at = offsets[i];
    assert_int_equal (run_server (read_wrong, "0%"), 0);
    assert_int_equal (run_server (read_wrong_unknown, "0%"), 0);
    assert_int_equal (run_server (write_elsewhere, "100%"), 0);
    if (wrong_at < SIZE - BLOCK)
      assert_int_equal (run_server (overwrite, "100%"), 0);
  }
  wrong_at = 0;
}

/* ---- Reads during changes ---- */

static struct client *other;

/* Change two blocks during a read, which returns their old content.  The blocks
 * between them are as in the manifest.
 */
static int
write_two (void)
{
  disk_on_read = NULL;
  client_write (other, 'n', BLOCK, BLOCK, 0);
  client_write (other, 'n', BLOCK, 8 * BLOCK, 0);
  return 0;
}

static int
read_while_written (void)
{
  struct client *client = client_open ("a");

  other = client;
  client_read (client, BLOCK, 0);
  disk_on_read = write_two;
  client_read (client, 10 * BLOCK, 0);
  client_disconnect (client);
  check (!result_has ("# unknown") &&
         manifest_is_right (manifest, SIZE, BLOCK));
  return 0;
}

/* A read returns the content of a write that has not ended. */
static void
read_written (void)
{
  disk_on_written = NULL;
  client_read (other, 99 * BLOCK, 0);
}

static int
read_before_write_ends (uint32_t blocks)
{
  struct client *client = client_open ("a");

  other = client_open ("a");
  disk_on_written = read_written;
  client_write (client, 'n', blocks * BLOCK, BLOCK, 0);
  client_disconnect (other);
  client_disconnect (client);
  check (!result_has ("# unknown") &&
         manifest_is_right (manifest, SIZE, BLOCK));
  return 0;
}

static int
read_before_one_is_written (void)
{
  return read_before_write_ends (1);
}

/* A leaf table (struct blkhash_leaves) records up to 64 ranges in which reads
 * contradict it.  Here reads contradict it in 90 blocks, which are one range.
 */
static int
read_before_many_are_written (void)
{
  return read_before_write_ends (90);
}

/* The last client might not see a change in the same 64 KiB as the wrong block,
 * so the audit at its disconnect does not read these 64 KiB.  The audit at the
 * disconnect of the next client does.
 */
static int
hide_wrong (void)
{
  struct client *client;

  disk_mode.flush = FLUSH_NONE;
  other = client_open ("a");
  client = client_open ("a");
  client_read (client, BLOCK, 0);
  client_write (other, 'x', BLOCK, 3 * BLOCK, 0);
  client_disconnect (other);
  client_disconnect (client);
  check (inode () == 0 && result_has ("# unknown a: the last client may not "
                                      "see what others changed\n"));
  client_disconnect (client_open ("a"));
  check_mismatch ();
  return 0;
}

/* The wrong block is hidden (see visibility.h) only while the audit reads it: a
 * client of another export writes to the same 64 KiB during the first read, and
 * flushes during the third.
 */
static int
hide_for_a_while (void)
{
  static unsigned reads;

  reads++;
  if (reads == 1)
    client_write (other, 'x', BLOCK, 20 * BLOCK, 0);
  else if (reads == 3)
    client_flush (other);
  return 0;
}

static int
hide_wrong_for_a_while (void)
{
  struct client *client = client_open ("a");

  other = client_open ("b");
  client_write (client, 'x', BLOCK, 40 * BLOCK, 0);
  disk_on_read = hide_for_a_while;
  client_disconnect (client);
  disk_on_read = NULL;
  check (inode () == 0 && result_has ("# unknown a: the last client may not "
                                      "see what others changed\n"));
  client_disconnect (other);
  return 0;
}

/* Another client changes a block and disconnects.  Without multi-conn, the last
 * client does not see the change before its own connection is flushed.  So the
 * filter flushes this connection before the audit.
 */
static int
flush_to_audit (void)
{
  struct client *client;

  disk_mode.multi_conn = false;
  disk_mode.views = VIEWS_OWN;
  client = client_open ("a");
  other = client_open ("a");
  client_read (client, BLOCK, 0);
  client_write (other, 'x', BLOCK, 3 * BLOCK, 0);
  client_disconnect (other);
  client_disconnect (client);
  check (!result_has ("# unknown") &&
         manifest_is_right (manifest, SIZE, BLOCK));
  return 0;
}

static void
test_changes_meanwhile (void **state)
{
  (void) state;
  assert_int_equal (run_server (read_while_written, "0%"), 0);
  assert_int_equal (run_server (read_while_written, "100%"), 0);
  assert_int_equal (run_server (read_before_one_is_written, "0%"), 0);
  assert_int_equal (run_server (read_before_many_are_written, "0%"), 0);
  wrong_at = 5 * BLOCK;
  assert_int_equal (run_server (hide_wrong, "100%"), 0);
  wrong_at = 25 * BLOCK;
  assert_int_equal (run_server (hide_wrong_for_a_while, "100%"), 0);
  wrong_at = 0;
  assert_int_equal (run_server (flush_to_audit, "100%"), 0);
}

/* A fast zero that is refused may have changed the disk, so the manifest was
 * emptied.  The disconnect writes it again, although no write succeeded.
 * Returns 2 if the plugin did not refuse the fast zero.
 */
static int
refuse_fast_zero (void)
{
  struct client *client = client_open ("a");

  disk_seed = at;
  if (client_zero (client, BLOCK, BLOCK, NBDKIT_FLAG_FAST_ZERO) == 0) {
    client_disconnect (client);
    return 2;
  }
  check (inode () == 0);
  client_disconnect (client);
  check (manifest_is_right (manifest, SIZE, BLOCK));
  return 0;
}

static void
test_refused_fast_zero (void **state)
{
  int r = 2;

  (void) state;
  for (at = 1; r == 2 && at < 100; at++)
    r = run_server (refuse_fast_zero, "0%");
  assert_int_equal (r, 0);
  at = 0;
}

/* After a failed flush no manifest is written, whatever comes later: a flush
 * that succeeds, a client that reads the whole disk, the end of the server.
 * Returns 2 if no flush failed.
 */
static int
fail_flush (void)
{
  struct client *client = client_open ("a");

  client_write (client, 'x', BLOCK, BLOCK, 0);
  disk_mode.flush = FLUSH_FAILS;
  disk_seed = at;
  client_disconnect (client);
  disk_mode.flush = FLUSH_WORKS;
  if (disk_flushes_failed == 0) {
    check (manifest_is_right (manifest, SIZE, BLOCK));
    return 2;
  }
  check (inode () == 0 &&
         result_has ("# unknown a: the changes cannot be flushed\n"));
  client = client_open ("b");
  client_read (client, SIZE, 0);
  client_disconnect (client);
  server_end ();
  check (inode () == 0);
  return 0;
}

/* If a client vanishes, its changes might not be flushed when the server ends,
 * so there is no manifest.
 */
static int
vanish (void)
{
  struct client *client = client_open ("a");

  client_write (client, 'x', BLOCK, BLOCK, 0);
  client_vanish (client);
  server_end ();
  check (inode () == 0 &&
         result_has ("# unknown a: the changes cannot be flushed\n"));
  return 0;
}

static void
test_failed_flush (void **state)
{
  int r, worked = 0, failed = 0;

  (void) state;
  for (at = 1; at < 100 && (worked == 0 || failed < 5); at++) {
    r = run_server (fail_flush, "0%");
    worked += r == 2;
    failed += r == 0;
    assert_true (r == 0 || r == 2);
  }
  assert_true (worked > 0 && failed >= 5);
  at = 0;
  assert_int_equal (run_server (vanish, "0%"), 0);
}

/* The last test, because cmocka ignores an error of the tear-down.  rmdir fails
 * if the filter left another file.
 */
static void
test_nothing_left (void **state)
{
  (void) state;
  unlink (path);
  unlink (manifest);
  assert_int_equal (rmdir (directory), 0);
}

static int
set_up (void **state)
{
  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (path, "%s/sums", directory);
  sprintf (manifest, "%s/manifest", directory);
  return 0;
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_failed_withdrawal),
    cmocka_unit_test (test_no_change),
    cmocka_unit_test (test_mismatch),
    cmocka_unit_test (test_changes_meanwhile),
    cmocka_unit_test (test_refused_fast_zero),
    cmocka_unit_test (test_failed_flush),
    cmocka_unit_test (test_nothing_left),
  };

  return cmocka_run_group_tests (tests, set_up, NULL);
}
