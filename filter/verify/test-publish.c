/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: when the verify filter writes its files.
 *
 * At the start the filter checks that it can create the files, and empties
 * them; it checks this again after the fork.  Then a thread writes the files:
 * once when the thread starts, and later, if anything has changed, when a
 * client disconnects or an interval ends.  In this test the interval never
 * ends, but its length is checked.  A request that fails because of a bad block
 * ends after the files were written with it.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "verify/publish.h"
#include "verify/test-verify-nbdkit.h"
#include "verify/verify-disk.h"
#include "verify/verify-export.h"

#define BLOCK 4096
#define SIZE (3 * BLOCK)        /* the last block is zeros */
#define INTERVAL 5.0            /* seconds, as in publish.c */

static char directory[] = "/tmp/blkhash-test-XXXXXX";
/* Paths; with blkhash-verify-manifest-dir, of the manifests of "a" and "b". */
static char manifest[50], other[50];
static struct plugin plugin;
static char *sum;

static struct {
  const char *param;
  char path[50];
} outputs[] = {
  { "blkhash-verify-file", "" },
  { "blkhash-verify-status", "" },
  { "blkhash-verify-mapfile", "" },
};

#define OUTPUTS (sizeof outputs / sizeof outputs[0])
#define OUTPUTS_OF_EXPORTS 2    /* no mapfile, because that is of one disk */
#define FILE_PATH outputs[0].path
#define STATUS_PATH outputs[1].path

static size_t used = OUTPUTS;   /* how many of OUTPUTS the server has */

/* ---- The thread ---- */

static atomic_uint threads;     /* number of threads created or joined */
static atomic_uint waits;       /* how often the thread began to wait */
static struct timespec wait_start, wait_end; /* start and time limit of the
                                              * first wait */
static atomic_uint syncs;
static atomic_uint directory_syncs; /* how many of SYNCS were of a directory */
static bool skips_syncs;        /* to save time */
static pthread_t main_thread;
static unsigned failing_sync;   /* number of the sync that fails, as counted by
                                 * SYNCS; 0: none */

int __wrap_pthread_cond_timedwait (pthread_cond_t *cond, pthread_mutex_t *lock,
                                   const struct timespec *end);
int __real_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                           void *(*run) (void *), void *opaque);
int __wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                           void *(*run) (void *), void *opaque);
int __real_pthread_join (pthread_t thread, void **result);
int __wrap_pthread_join (pthread_t thread, void **result);
int __real_fsync (int fd);
int __wrap_fsync (int fd);

int
__wrap_pthread_cond_timedwait (pthread_cond_t *cond, pthread_mutex_t *lock,
                               const struct timespec *end)
{
  if (pthread_equal (pthread_self (), main_thread))
    return pthread_cond_wait (cond, lock);
  if (waits == 0) {
    clock_gettime (CLOCK_MONOTONIC, &wait_start);
    wait_end = *end;
  }
  waits++;
  return pthread_cond_wait (cond, lock);
}

int
__wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                       void *(*run) (void *), void *opaque)
{
  threads++;
  return __real_pthread_create (thread, attr, run, opaque);
}

int
__wrap_pthread_join (pthread_t thread, void **result)
{
  threads++;
  return __real_pthread_join (thread, result);
}

int
__wrap_fsync (int fd)
{
  struct stat st;

  if (fstat (fd, &st) == 0 && S_ISDIR (st.st_mode))
    directory_syncs++;
  if (++syncs != failing_sync)
    return skips_syncs ? 0 : __real_fsync (fd);
  errno = EIO;
  return -1;
}

/* Sleep a millisecond.  Returns false after a minute of such sleeps. */
static bool
sleep_again (unsigned *tries)
{
  const struct timespec interval = { .tv_nsec = 1000000 };

  nanosleep (&interval, NULL);
  return ++*tries < 60000;
}

/* Wait until the thread has begun to wait more than BEFORE times. */
static void
wait_until_idle (unsigned before)
{
  unsigned tries = 0;

  while (waits <= before)
    if (!sleep_again (&tries))
      fail_msg ("the thread does not wait");
}

/* ---- The files ---- */

static char *
content (const char *path)
{
  static char text[10000];
  FILE *f = fopen (path, "r");
  size_t len;

  assert_non_null (f);
  len = fread (text, 1, sizeof text - 1, f);
  text[len] = '\0';
  fclose (f);
  return text;
}

static void
remove_files (void)
{
  size_t i;

  for (i = 0; i < used; i++)
    unlink (outputs[i].path);
}

static void
assert_no_files (void)
{
  size_t i;

  for (i = 0; i < used; i++)
    assert_int_equal (access (outputs[i].path, F_OK), -1);
}

static void
wait_for_files (void)
{
  unsigned tries = 0;
  size_t i;

  for (i = 0; i < used; i++)
    while (access (outputs[i].path, F_OK) == -1)
      if (!sleep_again (&tries))
        fail_msg ("%s was not written", outputs[i].path);
}

/* Make a directory with the name of the new file of output I, so that this file
 * cannot be created.  If BLOCK is false, remove that directory.
 */
static void
block_output (size_t i, bool block)
{
  char beside[70];

  sprintf (beside, "%s.blkhash-new", outputs[i].path);
  assert_int_equal (block ? mkdir (beside, 0700) : rmdir (beside), 0);
}

/* ---- The server ---- */

static int
start_outputs (void)
{
  return start ("blkhash-verify-manifest", manifest,
                "blkhash-verify-sum", sum, "blkhash-verify-zero", "skip",
                outputs[0].param, outputs[0].path,
                outputs[1].param, outputs[1].path,
                outputs[2].param, outputs[2].path, NULL);
}

/* Start a server that has a manifest for each export, and trusts them. */
static int
start_exports (void)
{
  used = OUTPUTS_OF_EXPORTS;
  return start ("blkhash-verify-manifest-dir", directory,
                "blkhash-verify-sum", "none", "blkhash-verify-zero", "read",
                outputs[0].param, outputs[0].path,
                outputs[1].param, outputs[1].path, NULL);
}

/* Start a server with START_SERVER, and wait until it has written the files. */
static void
start_thread (int (*start_server) (void))
{
  assert_int_equal (start_server (), 0);
  remove_files ();
  waits = 0;
  assert_int_equal (filter->after_fork (NULL), 0);
  wait_for_files ();
  wait_until_idle (0);
}

static void
stop_thread (void)
{
  filter->cleanup (NULL);
  unload ();
}

/* ---- A client ---- */

static void *
connect_client (const char *name)
{
  void *handle = open_export (name);

  assert_non_null (handle);
  assert_int_equal (filter->prepare (&plugin.next, handle, 0), 0);
  return handle;
}

static void
disconnect (void *handle)
{
  filter->finalize (&plugin.next, handle);
  filter->close (handle);
}

/* Read the whole disk.  The filter must return R. */
static void
read_data (void *handle, int r)
{
  char buf[SIZE];
  int err;

  assert_int_equal (filter->pread (&plugin.next, handle, buf, SIZE, 0, 0,
                                   &err), r);
}

static void
read_block (void *handle, uint64_t block, int r)
{
  char buf[BLOCK];
  int err;

  assert_int_equal (filter->pread (&plugin.next, handle, buf, BLOCK,
                                   block * BLOCK, 0, &err), r);
}

static void
read_good (void *handle)
{
  read_data (handle, 0);
}

static void
read_failing (void *handle)
{
  read_data (handle, -1);
}

static void
stop_disk (void *handle)
{
  (void) handle;
  verify_disk_stop (verify_exports_first_locked ()->disk);
}

/* A client connects, calls USE, and disconnects.  If WRITTEN is set, the files
 * must be written after that, otherwise they must not be written.
 */
static void
visit (void (*use) (void *handle), bool written)
{
  void *handle = connect_client (used == OUTPUTS ? "" : "a");
  unsigned before = waits;

  if (use)
    use (handle);
  remove_files ();
  disconnect (handle);
  if (written)
    wait_for_files ();
  wait_until_idle (before);
  if (!written)
    assert_no_files ();
}

static void
assert_status (const char *member)
{
  const char *text = content (STATUS_PATH);

  if (!strstr (text, member))
    fail_msg ("no %s in %s", member, text);
}

/* The next TIMES reads of the first block find one bit wrong; -1: all reads do.
 */
static void
set_fault (int times)
{
  plugin.nr_faults = 1;
  plugin.faults[0] = (struct fault) {
    .kind = FAULT_FLIP, .end = 1, .times = times, .left = times
  };
}

static void
write_manifests (uint32_t block_size)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");

  blkhash_opts_set_block_size (opts, block_size);
  free (manifest_of (opts, plugin.bytes, SIZE, other));
  free (sum);
  sum = manifest_of (opts, plugin.bytes, SIZE, manifest);
  blkhash_opts_free (opts);
}

/* ---- Tests ---- */

/* One output cannot be created: nothing is emptied, and no new file remains. */
static void
test_check (void **state)
{
  size_t i, j;

  (void) state;
  for (i = 0; i < OUTPUTS; i++) {
    start_thread (start_outputs);
    stop_thread ();
    block_output (i, true);
    assert_int_equal (start_outputs (), -1);
    assert_non_null (strstr (last_error, outputs[i].param));
    assert_non_null (strstr (last_error, ": cannot create "));
    for (j = 0; j < OUTPUTS; j++)
      assert_string_not_equal (content (outputs[j].path), "");
    unload ();

    remove_files ();
    assert_int_equal (start_outputs (), -1);
    assert_no_files ();         /* before unload calls .unload: after a failed
                                 * start nbdkit does not call it */
    unload ();
    block_output (i, false);
  }
}

/* After nbdkit has changed its user, the filter may be unable to create the
 * files.  Then .after_fork fails.
 */
static void
test_check_again (void **state)
{
  size_t i;

  (void) state;
  for (i = 0; i < OUTPUTS; i++) {
    assert_int_equal (start_outputs (), 0);
    block_output (i, true);
    assert_int_equal (filter->after_fork (NULL), -1);
    assert_non_null (strstr (last_error, outputs[i].param));
    unload ();
    block_output (i, false);
  }
}

/* The files of an earlier server are emptied before the fork. */
static void
test_empty (void **state)
{
  size_t i;

  (void) state;
  start_thread (start_outputs);
  stop_thread ();
  assert_int_equal (start_outputs (), 0);
  for (i = 0; i < OUTPUTS; i++)
    assert_string_equal (content (outputs[i].path), "");
  unload ();
}

/* If the emptied files cannot be synced, their old content could come back
 * after a crash, so the server does not start.
 */
static void
test_not_empty (void **state)
{
  unsigned i, count;

  (void) state;
  syncs = 0;
  assert_int_equal (start_outputs (), 0);
  count = syncs;
  unload ();
  assert_in_range (count, OUTPUTS, 10 * OUTPUTS);
  for (i = 1; i <= count; i++) {
    syncs = 0;
    failing_sync = i;
    assert_int_equal (start_outputs (), -1);
    assert_non_null (strstr (last_error, ": cannot empty "));
    unload ();
  }
}

static double
seconds_from (const struct timespec *start, const struct timespec *end)
{
  return end->tv_sec - start->tv_sec + (end->tv_nsec - start->tv_nsec) / 1e9;
}

/* The thread computes the time limit of its first wait after this test has
 * begun, and before the wait begins.
 */
static void
test_interval (void **state)
{
  struct timespec start;

  (void) state;
  clock_gettime (CLOCK_MONOTONIC, &start);
  start_thread (start_outputs);
  assert_true (seconds_from (&start, &wait_end) > INTERVAL - 1e-6);
  assert_true (seconds_from (&wait_start, &wait_end) < INTERVAL + 1e-6);
  stop_thread ();
}

static void
test_changes (void **state)
{
  void *client;                 /* as long as it is connected, the states of
                                 * blocks are kept */

  (void) state;
  start_thread (start_outputs);
  assert_status ("\"finished\": false,");
  assert_status ("\"missing-zero-bytes\": 0,");
  visit (NULL, true);           /* a client has connected */
  assert_status ("\"missing-zero-bytes\": 4096,");
  visit (NULL, false);
  client = connect_client ("");
  visit (read_good, true);
  assert_status ("\"verified-bytes\": 8192,");
  visit (read_good, false);
  set_fault (1);
  visit (read_good, true);
  assert_status ("\"transient-blocks\": 1,");
  set_fault (-1);
  visit (read_failing, false);  /* it was written before: see test_findings */
  disconnect (client);
  visit (NULL, true);
  assert_status ("\"differs-bytes\": 0,");
  visit (stop_disk, true);
  assert_status ("\"stopped\": true,");
  stop_thread ();
}

/* A client is refused, because the disk has another size now: what was
 * published is not that of this disk.
 */
static void
test_refused_client (void **state)
{
  unsigned before;
  void *handle;

  (void) state;
  start_thread (start_outputs);
  visit (read_good, true);
  assert_status ("\"verified-bytes\": 8192,");
  before = waits;
  remove_files ();
  handle = open_export ("");
  plugin.size++;
  assert_int_equal (filter->prepare (&plugin.next, handle, 0), -1);
  plugin.size--;
  filter->close (handle);
  publish_wake ();
  wait_until_idle (before);
  assert_status ("\"verified-bytes\": 0,");
  stop_thread ();
}

/* A bad block is in the files when the request fails.  If it is still bad, they
 * are not written again.
 */
static void
test_findings (void **state)
{
  void *handle;
  size_t i;

  (void) state;
  start_thread (start_outputs);
  handle = connect_client ("");
  set_fault (-1);
  remove_files ();
  read_failing (handle);
  assert_status ("\"differs-bytes\": 4096,");
  assert_non_null (strstr (content (FILE_PATH), "# differs -: 4096 bytes"));
  assert_non_null (strstr (content (outputs[2].path), "-\n"));
  remove_files ();
  for (i = 0; i < 3; i++)
    read_failing (handle);
  assert_no_files ();

  plugin.faults[1] = (struct fault) {
    .kind = FAULT_FAIL, .start = BLOCK, .end = BLOCK + 1, .err = EIO,
    .times = -1, .left = -1
  };
  plugin.nr_faults = 2;
  read_block (handle, 1, -1);
  assert_status ("\"unreadable-bytes\": 4096,");
  disconnect (handle);
  stop_thread ();
}

/* Requests do not wait for more than 1000 writes (MAX_AWAITED). */
static void
test_many_findings (void **state)
{
  unsigned i;
  void *handle;

  (void) state;
  start_thread (start_outputs);
  handle = connect_client ("");
  skips_syncs = true;
  for (i = 0; i <= 1000; i++) {
    plugin.nr_faults = 0;
    read_good (handle);
    remove_files ();
    set_fault (-1);
    read_failing (handle);
    if (i < 1000)
      assert_status ("\"differs-bytes\": 4096,");
  }
  assert_no_files ();
  disconnect (handle);
  stop_thread ();
}

/* The manifest has changed: no block is read, but the change is reported.  It
 * is so large that not all of it is in the filter's cache at the start.
 */
static void
test_manifest_changed (void **state)
{
  (void) state;
  write_manifests (16);
  start_thread (start_outputs);
  visit (NULL, true);
  assert_status ("\"manifest-changed\": false,");
  assert_int_equal (truncate (manifest, 520), 0);
  visit (read_failing, true);
  assert_status ("\"manifest-changed\": true,");
  assert_status ("\"stopped\": false,");
  stop_thread ();
}

/* The disk of an export is replaced by another one, which has as many blocks in
 * each state: the files are written again.
 */
static void
test_exports (void **state)
{
  (void) state;
  start_thread (start_exports);
  assert_status ("\"exports\": [\n  ]");
  assert_string_equal (content (FILE_PATH), "");
  assert_int_equal (errors, 0);
  visit (read_good, true);
  assert_status ("\"result\": \"ok\"");
  plugin.bytes[0] = 2;
  write_manifests (BLOCK);
  visit (read_good, true);
  assert_status ("\"result\": \"ok\"");
  stop_thread ();
  plugin.bytes[0] = 1;
}

/* Without an output there is no thread. */
static void
test_no_output (void **state)
{
  (void) state;
  threads = 0;
  assert_int_equal (start ("blkhash-verify-manifest", manifest,
                           "blkhash-verify-sum", sum, NULL), 0);
  assert_int_equal (filter->after_fork (NULL), 0);
  disconnect (connect_client ("a"));
  stop_thread ();
  assert_int_equal (threads, 0);
}

/* Write the result, whose first line after the header must begin with LINE.
 * The file and the directory must be synced.
 */
static void
write_result (const char *line)
{
  unsigned files = syncs, directories = directory_syncs;
  char *text;

  publish_write_result ();
  text = strchr (content (FILE_PATH), '\n') + 1; /* after the header */
  assert_int_equal (strncmp (text, line, strlen (line)), 0);
  assert_true (syncs > files);
  assert_true (directory_syncs > directories);
}

/* A crash must not bring back the old sum of an export that has lost its sum.
 */
static void
test_sync (void **state)
{
  void *first, *last;

  (void) state;
  assert_int_equal (start_exports (), 0);
  last = connect_client ("b");
  read_good (last);
  first = connect_client ("a");
  write_result ("# unknown a");
  read_good (first);
  write_result ("blk-sha256/4k (a)");
  write_result ("blk-sha256/4k (a)");
  set_fault (-1);
  read_failing (first);
  write_result ("# differs a");
  write_result ("# differs a");
  plugin.nr_faults = 0;
  read_good (first);
  write_result ("blk-sha256/4k (a)");
  disconnect (first);
  disconnect (last);
  unload ();
}

static int
reset (void **state)
{
  (void) state;
  plugin.nr_faults = 0;
  failing_sync = 0;
  skips_syncs = false;
  used = OUTPUTS;
  write_manifests (BLOCK);
  return 0;
}

static int
set_up (void **state)
{
  (void) state;
  main_thread = pthread_self ();
  if (!mkdtemp (directory))
    return -1;
  sprintf (manifest, "%s/a.blkm", directory);
  sprintf (other, "%s/b.blkm", directory);
  sprintf (outputs[0].path, "%s/file", directory);
  sprintf (outputs[1].path, "%s/status", directory);
  sprintf (outputs[2].path, "%s/map", directory);
  plugin_init (&plugin, SIZE);
  memset (plugin.bytes, 1, 2 * BLOCK);
  return 0;
}

/* The last test, because cmocka ignores an error of the tear-down.  rmdir fails
 * if the filter left another file.
 */
static void
test_nothing_left (void **state)
{
  reset (state);
  remove_files ();
  unlink (manifest);
  unlink (other);
  free (sum);
  plugin_destroy (&plugin);
  assert_int_equal (rmdir (directory), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup (test_check, reset),
    cmocka_unit_test_setup (test_check_again, reset),
    cmocka_unit_test_setup (test_empty, reset),
    cmocka_unit_test_setup (test_not_empty, reset),
    cmocka_unit_test_setup (test_interval, reset),
    cmocka_unit_test_setup (test_changes, reset),
    cmocka_unit_test_setup (test_refused_client, reset),
    cmocka_unit_test_setup (test_findings, reset),
    cmocka_unit_test_setup (test_many_findings, reset),
    cmocka_unit_test_setup (test_manifest_changed, reset),
    cmocka_unit_test_setup (test_exports, reset),
    cmocka_unit_test_setup (test_no_output, reset),
    cmocka_unit_test_setup (test_sync, reset),
    cmocka_unit_test (test_nothing_left),
  };

  return cmocka_run_group_tests (tests, set_up, NULL);
}
