/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: changes and errors at every step of writing the manifest.
 *
 * A disconnect or a change makes the filter write, sync and rename.  Each such
 * call in turn fails, or another client changes the disk just before the call.
 * The plugin, test-plugin.c, asserts that the manifest is empty or absent
 * whenever the disk is changed.  In the end the manifest must be right.  In one
 * test there is no memory for the line of a sum; in another, several exports
 * write the manifest at the same time.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/sums.h"
#include "../lib/common/util.h"
#include "blkhash-manifest.h"
#include "blkhash/export.h"
#include "blkhash/test-locks.h"
#include "blkhash/test-nbdkit.h"

/* A record of the manifest has at most 65536 leaves, so BLOCKS blocks need two
 * records.  The first is written when it is full.
 */
#define BLOCK 4
#define BLOCKS (65536 + 1000)
#define SIZE (BLOCK * BLOCKS - 1)

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char path[sizeof directory + 5], manifest[sizeof directory + 9];

static bool
is_empty (const char *name)
{
  struct stat st;

  return stat (name, &st) == -1 || st.st_size == 0;
}

/* Check that the manifest is what blkhash_leaves_save writes for the disk. */
static void
check_manifest (void)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash_leaves *l;
  FILE *wanted = tmpfile ();
  int fd = open (manifest, O_RDONLY);
  char a[4096], b[4096];
  ssize_t n;

  assert_true (wanted && fd != -1);
  blkhash_opts_set_block_size (opts, BLOCK);
  l = blkhash_leaves_new (opts, SIZE, 0);
  assert_int_equal (blkhash_leaves_data (l, disk, SIZE, 0), 0);
  assert_int_equal (blkhash_leaves_save (l, fileno (wanted), NULL, NULL), 0);
  rewind (wanted);
  do {
    n = read (fd, a, sizeof a);
    assert_int_equal (fread (b, 1, sizeof b, wanted), n);
    assert_memory_equal (a, b, n);
  } while (n > 0);
  close (fd);
  fclose (wanted);
  blkhash_leaves_free (l);
  blkhash_opts_free (opts);
}

/* ---- Interference at the call number AT ---- */

static unsigned calls, at;
static int fail_with;           /* errno; 0: another client writes instead */
static struct client *writer;   /* the other client */
static const char *writer_name; /* the name of its export */
static pthread_t thread;
static bool started;
static atomic_bool written;

static bool contradicts;        /* instead of writing, WRITER reads content that
                                 * no client wrote */

static void *
write_a_little (void *opaque)
{
  static int byte;

  (void) opaque;
  if (contradicts) {
    disk[SIZE / 2]++;
    client_read (writer, 10 * BLOCK, SIZE / 2 / BLOCK * BLOCK);
  }
  else
    client_write (writer, ++byte, 1, SIZE / 2, 0);
  written = true;
  return NULL;
}

static bool
is_published (const char *name)
{
  struct export *export;
  SCOPED_LOCK (&exports_lock);

  export = export_find_locked (name);
  return export && export->published;
}

/* Called before each call: at call number AT, let the call fail with FAIL_WITH,
 * or let the other client write.  If "a" has no published sum, wait for the end
 * of the write.  Otherwise wait only until the write has withdrawn the sum: the
 * write then waits for this thread.
 */
static int
interfere (const char *call)
{
  bool published = is_published ("a");

  (void) call;
  if (calls++ != at)
    return 0;
  if (fail_with)
    return fail_with;
  started = true;
  assert_int_equal (pthread_create (&thread, NULL, write_a_little, NULL), 0);
  while (!written && !(published && !is_published ("a")))
    usleep (100);
  return 0;
}

/* A client writes, which withdraws the sum, and disconnects, which publishes a
 * new one.  There is interference at call NUMBER of the disconnect.  Returns
 * false if the disconnect made no such call.
 */
static bool
disconnect_at (unsigned number)
{
  struct client *client = client_open ("a");

  client_write (client, number, 1, 0, 0);
  writer = client_open (writer_name);
  if (contradicts)
    client_read (writer, SIZE, 0);
  calls = 0;
  at = number;
  started = false;
  written = false;
  on_file_call = interfere;
  client_disconnect (client);
  on_file_call = NULL;
  if (started)
    pthread_join (thread, NULL);
  return calls > number;
}

/* ---- Tests ---- */

/* The other client, of the export NAME, writes during the disconnect of a
 * client of "a", which invalidates the sum of "a".  When the other client
 * disconnects, there is a new sum.  If NAME is not "a", there can be a new sum
 * of "a" even before: if the disconnect of the client of "a" takes the write
 * into account.
 */
static void
change_at_each_call (const char *name)
{
  unsigned i;

  fail_with = 0;
  writer_name = name;
  for (i = 0; disconnect_at (i); i++) {
    if (is_published ("a")) {
      assert_string_not_equal (name, "a");
      check_manifest ();
    }
    else
      assert_true (is_empty (manifest));
    client_disconnect (writer);
    check_manifest ();
  }
  client_disconnect (writer);
  check_manifest ();
  assert_true (i >= 5);         /* calls for the manifest: 2 writes, 2 syncs, a
                                 * rename */
}

static void
test_change (void **state)
{
  (void) state;
  change_at_each_call ("a");
  change_at_each_call ("b");
}

/* Two reads of export "b" return different content, although no client wrote in
 * between.  If "a" has a sum after that, the manifest is right.
 */
static void
test_contradiction (void **state)
{
  unsigned i;

  (void) state;
  fail_with = 0;
  writer_name = "b";
  contradicts = true;
  for (i = 0; disconnect_at (i); i++) {
    if (is_published ("a"))
      check_manifest ();
    client_disconnect (writer);
  }
  client_disconnect (writer);
  contradicts = false;
  client_disconnect (client_open ("a"));
  assert_true (i >= 5);
}

/* A call of the disconnect fails: the sum is published, and the manifest is
 * right or empty.
 */
static void
test_failed_publication (void **state)
{
  unsigned i, failures = 0;

  (void) state;
  fail_with = ENOSPC;
  writer_name = "a";
  for (i = 0; ; i++) {
    unsigned reported = errors_reported ();

    client_disconnect (client_open ("a"));
    if (!disconnect_at (i))
      break;
    assert_true (errors_reported () > reported);
    client_vanish (writer);
    assert_true (is_published ("a"));
    if (is_empty (manifest))
      failures++;
    else
      check_manifest ();
  }
  client_vanish (writer);
  check_manifest ();
  assert_true (failures >= 5);
}

/* A call fails when a change withdraws the sum.  Whichever call it is, there is
 * no stale manifest when the plugin changes the disk.
 */
static void
test_failed_withdrawal (void **state)
{
  struct client *client;
  unsigned i;

  (void) state;
  fail_with = EIO;
  for (i = 0; ; i++) {
    client_disconnect (client_open ("a"));
    assert_true (is_published ("a"));
    client = client_open ("a");
    calls = 0;
    at = i;
    on_file_call = interfere;
    client_write (client, i, 1, 1, 0);
    on_file_call = NULL;
    client_disconnect (client);
    check_manifest ();
    if (calls <= i)
      break;
  }
  assert_true (i >= 6);
}

char *__real_sum_line (const struct blkhash_opts *opts,
                       const unsigned char *md, size_t md_len,
                       const char *name, bool tag, bool escape);
char *__wrap_sum_line (const struct blkhash_opts *opts,
                       const unsigned char *md, size_t md_len,
                       const char *name, bool tag, bool escape);

static bool no_memory;          /* for the line of a sum */

char *
__wrap_sum_line (const struct blkhash_opts *opts,
                 const unsigned char *md, size_t md_len,
                 const char *name, bool tag, bool escape)
{
  return no_memory ? NULL
                   : __real_sum_line (opts, md, md_len, name, tag, escape);
}

/* No memory for the line of a sum: the next client publishes the sum. */
static void
test_no_memory (void **state)
{
  struct client *client = client_open ("a");
  unsigned reported = errors_reported ();

  (void) state;
  client_write (client, 1, 1, 0, 0);
  no_memory = true;
  client_disconnect (client);
  no_memory = false;
  assert_true (errors_reported () > reported);
  assert_false (is_published ("a"));
  assert_true (is_empty (manifest));
  assert_string_equal (export_find_locked ("a")->line.text,
                       "# unknown a: no memory\n");
  client_disconnect (client_open ("a"));
  assert_true (is_published ("a"));
  check_manifest ();
}

/* The last test, because cmocka ignores an error of the tear-down.  rmdir fails
 * if the filter left another file.
 */
static void
test_nothing_left (void **state)
{
  (void) state;
  server_stop ();
  unlink (path);
  unlink (manifest);
  assert_int_equal (rmdir (directory), 0);
}

static void *
read_all (void *name)
{
  struct client *client = client_open (name);

  client_read (client, SIZE, 0);
  client_disconnect (client);
  return NULL;
}

/* The exports of several names of the disk write the manifest at the same time.
 */
static void
test_parallel (void **state)
{
  static const char *const names[] = { "a", "b", "c" };
  pthread_t threads[3];
  unsigned i, k;

  (void) state;
  for (i = 0; i < 20; i++) {
    struct client *client = client_open ("a");

    client_write (client, i, 1, 0, 0);
    client_vanish (client);
    for (k = 0; k < 3; k++)
      assert_int_equal (pthread_create (&threads[k], NULL, read_all,
                                        (void *) names[k]), 0);
    for (k = 0; k < 3; k++)
      pthread_join (threads[k], NULL);
    check_manifest ();
  }
}

static int
set_up (void **state)
{
  struct client *client;
  unsigned i;

  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (path, "%s/sums", directory);
  sprintf (manifest, "%s/manifest", directory);
  server_start (SIZE, path, manifest, "4");
  for (i = 0; i < SIZE; i++)
    disk[i] = 1 + i / BLOCK % 255;
  client = client_open ("a");
  client_read (client, SIZE, 0);
  client_disconnect (client);
  return 0;
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_change),
    cmocka_unit_test (test_contradiction),
    cmocka_unit_test (test_failed_publication),
    cmocka_unit_test (test_failed_withdrawal),
    cmocka_unit_test (test_no_memory),
    cmocka_unit_test (test_parallel),
    cmocka_unit_test (test_nothing_left),
  };

  return cmocka_run_group_tests (tests, set_up, NULL);
}
