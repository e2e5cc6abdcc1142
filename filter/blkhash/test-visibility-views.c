/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: random clients in many threads.  Each connection can have its own
 * view of the disk.  When all connections are closed, every published sum must
 * be that of the disk, and the manifest must be right or empty.  A client that
 * is alone gets a sum.  Some servers write no manifest, so several exports
 * publish their sums at the same time; some update the manifest of an earlier
 * server.
 *
 * It needs no nbdkit, which is not built for TSan.  Locks are taken in one
 * order, and no thread holds any of them while it does file I/O or calls the
 * plugin.
 *
 * A mode is how the plugin shows changes to other connections, and whether it
 * can flush.  Each server is a process with one mode and CROWDS crowds of
 * clients, one crowd after the other.  The test prints its seed, which
 * BLKHASH_SEED can set.  BLKHASH_ROUNDS is the number of crowds for each mode,
 * rounded up to a multiple of CROWDS.  A server that fails prints its own seed.
 * Threads are not deterministic, so it can take several runs with this seed
 * until the server fails again.
 */

#include <config.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include <cmocka.h>

#include "blkhash/export.h"
#include "blkhash/test-locks.h"
#include "blkhash/test-nbdkit.h"
#include "blkhash/test-sums.h"

#define THREADS 4
#define CROWDS 20               /* crowds of a server */

/* NBD permits all these modes: without a flush, other connections need not see
 * a change.
 */
static struct mode {
  char name[48];
  struct disk_mode disk;
} modes[3 * 3 * 2];

static unsigned first_seed, rounds = 20;

/* ---- A server ---- */

static const struct mode *mode;
static unsigned server_seed;
static char path[64], manifest[64];
static uint32_t block_size;
static uint64_t size;
static const char *const names[] = { "a", "b", "c" };
static unsigned nr_names;
static bool missing_read;       /* blkhash-missing=read */
static bool updating;           /* blkhash-update=true */
static unsigned failures;       /* value of disk_failures while a crowd runs */

static uint32_t
below (unsigned *seed, uint32_t n)
{
  return (uint32_t) rand_r (seed) % n;
}

static void
complain (const char *what, const char *found)
{
  fprintf (stderr, "%s: %s: BLKHASH_SEED=%u BLKHASH_ROUNDS=%d\n%s\n",
           mode->name, what, server_seed, CROWDS, found);
  _exit (1);
}

/* Check that every sum in the result file is that of the disk, and that the
 * manifest is right or empty.  If NAME is not NULL, the export NAME must have a
 * sum.
 */
static void
check (const char *name)
{
  char text[1024], sum[SUM_LEN], wanted[20], *line, *rest;
  FILE *f = fopen (path, "r");
  struct stat st;
  bool found = !name;

  if (!f)
    complain ("no result file", path);
  text[fread (text, 1, sizeof text - 1, f)] = '\0';
  fclose (f);
  disk_sum (sum, size, block_size);
  snprintf (wanted, sizeof wanted, " (%s) = ", name ? name : "");
  for (rest = text; (line = strsep (&rest, "\n")) && *line; ) {
    if (*line == '#')
      continue;
    if (strcmp (strrchr (line, ' ') + 1, sum) != 0)
      complain ("wrong sum", line);
    found |= name && strstr (line, wanted);
  }
  if (!found)
    complain ("no sum", text);
  if (strstr (text, "differ from the manifest"))
    complain ("a right manifest was called wrong", text);
  if (stat (manifest, &st) == 0 && st.st_size > 0 &&
      !manifest_is_right (manifest, size, block_size))
    complain ("wrong manifest", "");
}

/* ---- Clients ---- */

static void
do_request (struct client *client, unsigned *seed)
{
  uint32_t most = size / 2 < 3 * block_size ? size / 2 : 3 * block_size;
  uint32_t len = 1 + below (seed, most);
  uint64_t offset = below (seed, size - len);
  uint32_t flags = below (seed, 4) == 0 ? NBDKIT_FLAG_FUA : 0;

  if (below (seed, 2)) {        /* whole blocks, or a part of one */
    len = len < block_size ? len : len - len % block_size;
    offset -= offset % block_size;
  }
  switch (below (seed, 12)) {
  case 0: case 1: case 2: client_read (client, len, offset); break;
  case 3: case 4: case 5: client_write (client, 'a' + below (seed, 9), len,
                                        offset, flags); break;
  case 6: flags |= NBDKIT_FLAG_FAST_ZERO; /* fall through */
  case 7: flags |= NBDKIT_FLAG_MAY_TRIM * below (seed, 2);
    client_zero (client, len, offset, flags); break;
  case 8: client_write (client, 0, len, offset, flags); break;
  case 9: client_trim (client, len, offset, flags); break;
  case 10: client_extents (client, len, offset); break;
  case 11:
    if (mode->disk.flush != FLUSH_NONE)
      client_flush (client);
    break;
  }
}

struct job {
  struct client *client;
  unsigned seed;
};

static void *
run_job (void *opaque)
{
  struct job *job = opaque;
  unsigned requests = below (&job->seed, 10);

  disk_seed = job->seed | 1;
  while (requests-- > 0)
    do_request (job->client, &job->seed);
  return NULL;
}

/* If the changes of a connection can reach the disk when it is closed, no other
 * connection may be opened between its .finalize and the plugin's .close: see
 * "Changes that the filter cannot detect" in the manual.
 */
static pthread_rwlock_t late = PTHREAD_RWLOCK_INITIALIZER;

static bool
is_late (void)
{
  return mode->disk.views == VIEWS_BACK && mode->disk.flush != FLUSH_WORKS;
}

static struct client *
open_client (const char *name)
{
  struct client *client;

  if (is_late ())
    pthread_rwlock_wrlock (&late);
  client = client_open (name);
  if (is_late ())
    pthread_rwlock_unlock (&late);
  return client;
}

static void
close_client (struct client *client, bool vanish)
{
  if (is_late ())
    pthread_rwlock_rdlock (&late);
  if (vanish && (mode->disk.views != VIEWS_BACK || is_late ()))
    client_vanish (client);
  else
    client_disconnect (client);
  if (is_late ())
    pthread_rwlock_unlock (&late);
}

/* Two threads use one connection. */
static void
run_client (unsigned *seed)
{
  struct client *client = open_client (names[below (seed, nr_names)]);
  struct job own = { client, rand_r (seed) }, other = { client, rand_r (seed) };
  pthread_t thread;

  if (pthread_create (&thread, NULL, run_job, &other) != 0)
    abort ();
  run_job (&own);
  pthread_join (thread, NULL);
  close_client (client, below (seed, 8) == 0);
}

static void *
run_clients (void *opaque)
{
  unsigned seed = (uintptr_t) opaque, clients = 1 + below (&seed, 2);

  disk_seed = seed | 1;
  while (clients-- > 0)
    run_client (&seed);
  return NULL;
}

static void
run_crowd (unsigned *seed)
{
  pthread_t threads[THREADS];
  unsigned i, n = 2 + below (seed, THREADS - 1);

  disk_mode = mode->disk;
  disk_failures = failures;
  for (i = 0; i < n; i++)
    if (pthread_create (&threads[i], NULL, run_clients,
                        (void *) (uintptr_t) rand_r (seed)) != 0)
      abort ();
  for (i = 0; i < n; i++)
    pthread_join (threads[i], NULL);
  check (NULL);
}

/* After one client at a time, whose requests do not fail, there must be a sum.
 * With blkhash-missing=read one client is enough, because the filter reads the
 * blocks that are still unknown.  Otherwise a second client reads all of the
 * disk.
 */
static void
run_alone (unsigned *seed)
{
  const char *name = names[below (seed, nr_names)];
  struct client *client;

  if (mode->disk.flush == FLUSH_FAILS)
    disk_mode.flush = FLUSH_WORKS;
  disk_failures = 0;
  client = client_open (name);
  client_write (client, 'x', 1, 0, 0);
  client_disconnect (client);
  /* With blkhash-update there is no sum any more if a flush has failed, as can
   * have happened in an earlier crowd.
   */
  check (missing_read && !(updating && mode->disk.flush == FLUSH_FAILS)
         ? name : NULL);
  if (missing_read)
    return;
  client = client_open (name);
  client_read (client, size, 0);
  client_disconnect (client);
  check (name);
}

/* Fill the disk, and write its manifest, as an earlier server would. */
static void
make_baseline (void)
{
  unsigned seed = server_seed;
  uint64_t i;

  for (i = 0; i < size; i++)
    if (i / block_size % 3 > 0)
      disk[i] = rand_r (&seed);
  manifest_make (manifest, size, block_size);
}

/* Let the server update the manifest of make_baseline.  The filter compares the
 * manifest with what clients read, and, if AUDIT is set, also with a sample of
 * the disk.
 */
static void
configure_update (bool audit)
{
  updating = true;
  server_configure ("blkhash-update", "true");
  server_configure ("blkhash-audit", audit ? "10%" : "0%");
  server_on_start = make_baseline;
}

static void
start_server (const char *directory)
{
  unsigned seed = server_seed;
  char bytes[32];

  block_size = below (&seed, 2) ? 4096 : 65536;
  size = block_size * (4 + below (&seed, block_size == 4096 ? 36 : 4)) -
    below (&seed, 2) * 1234;
  nr_names = below (&seed, 2) ? 1 : 3;
  missing_read = below (&seed, 4) > 0;
  failures = below (&seed, 3) ? 0 : 31;
  sprintf (bytes, "%u", block_size);
  sprintf (path, "%s/sums", directory);
  sprintf (manifest, "%s/manifest", directory);
  if (missing_read && below (&seed, 2))
    configure_update (below (&seed, 2));
  server_configure ("blkhash-missing", missing_read ? "read" : "fail");
  server_start (size, path, updating || below (&seed, 4) ? manifest : NULL,
                bytes);
}

static void
run_server (void)
{
  char directory[] = "/dev/shm/blkhash-test-XXXXXX";
  unsigned seed, i;

  /* The files are in memory, because syncs do not matter here. */
  if (!mkdtemp (directory)) {
    strcpy (directory, "/tmp/blkhash-test-XXXXXX");
    if (!mkdtemp (directory))
      complain ("no directory", directory);
  }
  start_server (directory);
  for (i = 0, seed = server_seed; i < CROWDS; i++) {
    run_crowd (&seed);
    if (below (&seed, 4) == 0)
      run_alone (&seed);
  }
  run_alone (&seed);
  /* Those of a leaf table and of report.c. */
  if (locks_below (&exports_lock) < 2)
    complain ("locks were not observed", "");
  server_stop ();
  unlink (path);
  unlink (manifest);
  if (rmdir (directory) != 0)
    complain ("something is left", directory);
}

/* ---- Modes ---- */

/* Each server is a process, because the state of the filter is static. */
static void
test_mode (void **state)
{
  unsigned i;
  int status;
  pid_t pid;

  mode = *state;
  for (i = 0; i < (rounds + CROWDS - 1) / CROWDS; i++) {
    server_seed = first_seed + i;
    fflush (NULL);
    pid = fork ();
    if (pid == 0) {
      signal (SIGABRT, SIG_DFL);
      signal (SIGSEGV, SIG_DFL);
      run_server ();
      exit (0);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    if (status != 0)
      fail_msg ("status %#x: BLKHASH_SEED=%u", status, server_seed);
  }
}

#define NR_MODES (sizeof modes / sizeof modes[0])

static void
make_mode (struct mode *m, unsigned number)
{
  static const char *const views[] = { "shared", "own", "back" };
  static const char *const flushes[] = { "", ", no flush", ", flush fails" };

  m->disk.views = number / 6;
  m->disk.flush = number / 2 % 3;
  m->disk.multi_conn = number % 2;
  sprintf (m->name, "%s%s%s", views[m->disk.views], flushes[m->disk.flush],
           m->disk.multi_conn ? ", multi-conn" : "");
}

int
main (void)
{
  const char *given = getenv ("BLKHASH_SEED"), *slow = getenv ("BLKHASH_SLOW");
  struct CMUnitTest tests[NR_MODES];
  unsigned i;

  first_seed = given ? strtoul (given, NULL, 10) : (unsigned) time (NULL);
  if (slow && *slow && strcmp (slow, "0") != 0)
    rounds = 1000;
  given = getenv ("BLKHASH_ROUNDS");
  if (given)
    rounds = strtoul (given, NULL, 10);
  printf ("BLKHASH_SEED=%u\n", first_seed);
  for (i = 0; i < NR_MODES; i++) {
    make_mode (&modes[i], i);
    tests[i] = (struct CMUnitTest) {
      modes[i].name, test_mode, NULL, NULL, &modes[i]
    };
  }
  return cmocka_run_group_tests (tests, NULL, NULL);
}
