/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: how many locks a request takes, and how many bytes are written for
 * a result, if there are very many exports; and that test-locks.c detects
 * violations of the rules in test-locks.h.
 */

#include <config.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash/export.h"
#include "blkhash/test-locks.h"
#include "blkhash/test-nbdkit.h"
#include "common/result-file.h"

#define BLOCK 4096
#define BLOCKS 16
#define SIZE (BLOCK * BLOCKS)

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char path[sizeof directory + 5], manifest[sizeof directory + 9];

/* ---- What test-locks.h detects ---- */

static void
lock_in_both_orders (void)
{
  static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
  static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;

  pthread_mutex_lock (&a);
  pthread_mutex_lock (&b);
  pthread_mutex_unlock (&a);
  pthread_mutex_lock (&a);
}

static void
lock_in_a_circle (void)
{
  static pthread_mutex_t m[] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER
  };
  int i;

  for (i = 0; i < 3; i++) {
    pthread_mutex_lock (&m[i]);
    pthread_mutex_lock (&m[(i + 1) % 3]);
    pthread_mutex_unlock (&m[i]);
    pthread_mutex_unlock (&m[(i + 1) % 3]);
  }
}

/* The kind of a lock is the address to which its call of pthread_mutex_init
 * returns.  Locks that this function initializes are of one kind, because they
 * share that call.  The call of locks_watch after it prevents a tail call,
 * which would return to the caller of this function.
 */
static void __attribute__ ((noinline))
init (pthread_mutex_t *m)
{
  pthread_mutex_init (m, NULL);
  locks_watch (m);
}

static void
lock_two_of_one_kind (void)
{
  pthread_mutex_t m[2];

  init (&m[0]);
  init (&m[1]);
  pthread_mutex_lock (&m[0]);
  pthread_mutex_lock (&m[1]);
}

static void
sync_with_a_lock (void)
{
  static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

  pthread_mutex_lock (&m);
  fsync (0);
}

static void
write_with_a_lock (void)
{
  static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  ssize_t n;

  pthread_mutex_lock (&m);
  n = write (-1, "", 1);
  (void) n;
}

static void
assert_aborts (void (*fn) (void))
{
  int status;
  pid_t pid = fork ();

  if (pid == 0) {
    struct rlimit none = { 0, 0 };

    setrlimit (RLIMIT_CORE, &none);
    signal (SIGABRT, SIG_DFL);
    fn ();
    _exit (0);
  }
  assert_int_equal (waitpid (pid, &status, 0), pid);
  assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGABRT);
}

static void
test_what_is_seen (void **state)
{
  (void) state;
  assert_aborts (lock_in_both_orders);
  assert_aborts (lock_in_a_circle);
  assert_aborts (lock_two_of_one_kind);
  assert_aborts (sync_with_a_lock);
  assert_aborts (write_with_a_lock);
}

/* ---- Reads ---- */

/* A read takes exports_lock at most twice. */
static void
assert_twice (struct client *client, uint32_t len, uint64_t offset)
{
  locks_watch (&exports_lock);
  assert_int_equal (client_read (client, len, offset), 0);
  assert_true (locks_taken_watched () >= 1 && locks_taken_watched () <= 2);
}

static void
test_reads (void **state)
{
  struct client *client = client_open ("reads");

  (void) state;
  memset (disk, 'd', SIZE / 2);
  assert_twice (client, BLOCK, 0);              /* the first read */
  assert_twice (client, BLOCK, 0);              /* known data */
  assert_twice (client, 512, BLOCK);            /* a part of a block */
  assert_twice (client, 512, BLOCK);
  assert_twice (client, BLOCK - 512, BLOCK + 512); /* the rest of the block */
  assert_twice (client, SIZE / 2, SIZE / 2);    /* zeros */
  assert_twice (client, SIZE / 2, SIZE / 2);
  assert_twice (client, 512, SIZE / 2);         /* a part of known zeros */
  assert_twice (client, SIZE, 0);               /* all of the disk */
  client_disconnect (client);

  client = client_open ("reads");               /* the export has a sum now */
  assert_twice (client, BLOCK, 0);
  memset (disk, 'e', BLOCK);
  assert_twice (client, BLOCK, 0);              /* withdraws the sum */
  client_disconnect (client);
}

/* ---- Names ---- */

#define NAMES 300
#define NAME 4000               /* bytes */

static void
make_name (char *name, unsigned i)
{
  memset (name, 'n', NAME);
  sprintf (name + NAME - 5, "%05u", i);
}

/* The bytes written for a sum are limited. */
static void
test_names (void **state)
{
  char name[NAME + 1];
  uint64_t before;
  struct client *client;
  unsigned i;

  (void) state;
  for (i = 0; i < NAMES; i++) {
    make_name (name, i);
    client = client_open (name);
    client_read (client, SIZE, 0);
    before = file_bytes_written;
    client_disconnect (client);
    assert_true (export_find_locked (name)->published);
    assert_true (file_bytes_written - before <= RESULT_MAX + 1000);
  }
  /* All lines together exceed the limit. */
  assert_true (file_bytes_written - before <= 1000);

  /* The file is not written for a client that reads only one byte. */
  before = file_bytes_written;
  client = client_open ("looks");
  client_read (client, 1, 0);
  client_disconnect (client);
  assert_int_equal (file_bytes_written, before);
}

/* ---- Changes ---- */

/* All exports.  After poison () their NEXT pointers are invalid, so that a
 * request that walks the list of exports crashes.
 */
static struct export *known[EXPORTS_MAX];
static unsigned nr_known;

static void
poison_next (struct export *export)
{
  known[nr_known++] = export;
}

static void
poison (void)
{
  unsigned i;

  nr_known = 0;
  exports_foreach (poison_next);
  for (i = 0; i < nr_known; i++)
    known[i]->next = (struct export *) 1;
}

static void
restore (void)
{
  unsigned i;

  for (i = 0; i < nr_known; i++)
    known[i]->next = i + 1 < nr_known ? known[i + 1] : NULL;
}

enum { WRITE, PIECE, ZERO, TRIM, AFTER_SUM, KINDS };

/* Count how many locks each kind of change takes.  Checks that each change
 * takes exports_lock twice.
 */
static void
count_locks (struct client *client, unsigned counts[KINDS])
{
  unsigned kind, before;

  for (kind = 0; kind < KINDS; kind++) {
    struct client *other = client_open ("reads");

    if (kind == AFTER_SUM) {    /* OTHER gets a sum; then CLIENT withdraws it */
      client_write (client, 'b', SIZE, 0, 0);
      client_flush (client);
      client_read (other, SIZE, 0);
    }
    client_disconnect (other);
    if (kind == AFTER_SUM)
      assert_true (export_find_locked ("reads")->published);

    locks_watch (&exports_lock);
    before = locks_taken ();
    switch (kind) {
    case WRITE: client_write (client, 'a', BLOCK, 0, 0); break;
    case PIECE: client_write (client, 'a', 512, BLOCK, 0); break;
    case ZERO: client_zero (client, BLOCK, 2 * BLOCK, 0); break;
    case TRIM: client_trim (client, BLOCK, 3 * BLOCK, 0); break;
    case AFTER_SUM: client_write (client, 'a', BLOCK, 0, 0); break;
    }
    counts[kind] = locks_taken () - before;
    assert_int_equal (locks_taken_watched (), 2);
  }
}

static void
test_changes (void **state)
{
  struct client *client = client_open ("changes");
  unsigned few[KINDS], many[KINDS], i;
  char name[20];

  (void) state;
  count_locks (client, few);    /* discarded: the first changes initialize some
                                 * things once */
  count_locks (client, few);
  for (i = 2; i < EXPORTS_MAX; i++) {
    struct client *other;

    sprintf (name, "%u", i);
    other = client_open (name);
    client_read (other, 1, 0);
    client_vanish (other);
  }
  poison ();
  assert_int_equal (nr_known, EXPORTS_MAX);
  count_locks (client, many);   /* discarded: the first hashes may measure which
                                 * SIMD implementation is the fastest, which
                                 * takes locks */
  count_locks (client, many);
  restore ();
  assert_memory_equal (few, many, sizeof few);
  client_disconnect (client);
}

static int
set_up (void **state)
{
  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (path, "%s/sums", directory);
  sprintf (manifest, "%s/manifest", directory);
  server_start (SIZE, path, manifest, "4096");
  return 0;
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

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_what_is_seen),
    cmocka_unit_test (test_reads),
    cmocka_unit_test (test_names),
    cmocka_unit_test (test_changes),
    cmocka_unit_test (test_nothing_left),
  };

  return cmocka_run_group_tests (tests, set_up, NULL);
}
