/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: a manifest for each export of the verify filter.
 *
 * Clients in threads connect to exports at random, read their disks, and
 * disconnect, while the outputs are written.  Prints the seed, and takes
 * BLKHASH_SEED.
 */

#include <config.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "test-verify-nbdkit.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/params.h"

#define EXPORTS 5
#define SIZE 200000
#define CLIENTS 4
#define ROUNDS 40

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char manifests[50], list[50], status[50];
static unsigned seed;
static struct plugin plugins[EXPORTS];

/* ---- The server ---- */

static void
start_exports (bool with_status)
{
  assert_int_equal (start ("blkhash-verify-exports", manifests,
                           "blkhash-verify-sums", list,
                           with_status ? "blkhash-verify-status" : NULL,
                           status, NULL), 0);
  assert_int_equal (filter->after_fork (NULL), 0);
}

static void
stop_exports (void)
{
  filter->cleanup (NULL);
  stop ();
}

/* ---- Clients ---- */

static void
visit (unsigned number, unsigned offset)
{
  nbdkit_next *next = &plugins[number].next;
  char name[2] = { 'a' + number }, buf[100];
  void *handle = open_export (name);
  int err;

  if (!handle || filter->prepare (next, handle, 0) == -1 ||
      filter->pread (next, handle, buf, sizeof buf, offset, 0, &err) == -1 ||
      memcmp (buf, plugins[number].bytes + offset, sizeof buf) != 0)
    abort ();
  filter->finalize (next, handle);
  filter->close (handle);
}

static void *
visit_at_random (void *opaque)
{
  unsigned *s = opaque, i;

  for (i = 0; i < ROUNDS; i++)
    visit (rand_r (s) % EXPORTS, rand_r (s) % (SIZE - 100));
  return NULL;
}

static void
run_clients (void)
{
  pthread_t threads[CLIENTS];
  unsigned seeds[CLIENTS], i;

  for (i = 0; i < CLIENTS; i++) {
    seeds[i] = seed + i;
    assert_int_equal (pthread_create (&threads[i], NULL, visit_at_random,
                                      &seeds[i]), 0);
  }
  for (i = 0; i < CLIENTS; i++)
    pthread_join (threads[i], NULL);
}

/* ---- Tests ---- */

/* Without an output nothing is remembered. */
static void
test_forgotten (void **state)
{
  (void) state;
  start_exports (false);
  run_clients ();
  assert_null (exports_first_locked ());
  assert_int_equal (errors, 0);
  stop_exports ();
}

/* With one, the tally is, but no manifest is open. */
static void
test_remembered (void **state)
{
  const struct export *export;
  unsigned count = 0;

  (void) state;
  start_exports (true);
  run_clients ();
  for (export = exports_first_locked (); export; export = export->next) {
    count++;
    assert_int_equal (export->users, 0);
    assert_int_equal (export->disk->fd, -1);
    assert_int_not_equal (export->disk->tally.counts[BLOCK_GOOD], 0);
  }
  assert_in_range (count, 1, EXPORTS);
  assert_int_equal (errors, 0);
  stop_exports ();
}

/* Has the last error no character that controls a terminal or ends a line? */
static void
assert_printable (void)
{
  const unsigned char *c = (const unsigned char *) last_error;

  for (; *c; c++)
    if (*c < ' ' || *c == 0x7f ||
        (*c == 0xc2 && c[1] < 0xa0)) /* U+0080 to U+009F */
      fail_msg ("%#x in the message", *c);
}

static void
test_names (void **state)
{
  static const char *const names[] = {
    "", ".", "..", "/", "a/", "./a", "../manifests/a", "b/../a", "z", "A",
    "a.blkm", "\n", "a\n/", "\x1b[2Ja", "a\r\b\x7f", "\xc2\x9b""2J", "\xff",
  };
  char longest[5000];
  size_t i;

  (void) state;
  start_exports (true);
  for (i = 0; i < sizeof names / sizeof names[0]; i++) {
    assert_null (open_export (names[i]));
    assert_int_equal (errors, i + 1);
    assert_printable ();
  }
  memset (longest, 'a', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  assert_null (open_export (longest));
  assert_null (exports_first_locked ());
  stop_exports ();
}

static void
make_disk (unsigned number, FILE *sums)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct plugin *plugin = &plugins[number];
  char path[100], *sum;
  size_t i;

  plugin_init (plugin, SIZE);
  for (i = 0; i < SIZE; i++)
    plugin->bytes[i] = rand_r (&seed);
  blkhash_opts_set_block_size (opts, 4096);
  sprintf (path, "%s/%c.blkm", manifests, 'a' + number);
  sum = manifest_of (opts, plugin->bytes, SIZE, path);
  fprintf (sums, "blk-sha256/4k (%c) = %s\n", 'a' + number,
           strrchr (sum, ' ') + 1);
  free (sum);
  blkhash_opts_free (opts);
}

static int
set_up (void **state)
{
  unsigned i;
  FILE *sums;

  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (manifests, "%s/manifests", directory);
  sprintf (list, "%s/list", directory);
  sprintf (status, "%s/status", directory);
  sums = fopen (list, "w");
  if (!sums || mkdir (manifests, 0700) == -1)
    return -1;
  for (i = 0; i < EXPORTS; i++)
    make_disk (i, sums);
  return fclose (sums);
}

/* rmdir checks that nothing else is left. */
static int
tear_down (void **state)
{
  char path[100];
  unsigned i;

  (void) state;
  for (i = 0; i < EXPORTS; i++) {
    sprintf (path, "%s/%c.blkm", manifests, 'a' + i);
    unlink (path);
    plugin_destroy (&plugins[i]);
  }
  unlink (list);
  unlink (status);
  return rmdir (manifests) == -1 ? -1 : rmdir (directory);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_forgotten),
    cmocka_unit_test (test_remembered),
    cmocka_unit_test (test_names),
  };

  seed = get_seed ();
  return cmocka_run_group_tests (tests, set_up, tear_down);
}
