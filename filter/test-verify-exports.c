/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: the verify filter with a manifest for each export.
 *
 * Clients in threads connect to random exports, read their disks, and
 * disconnect, while the filter writes its output.  Then single clients test
 * what the filter keeps of unused exports, which names and manifests it
 * refuses, which files it has open, and its limits.  The test prints its seed,
 * which BLKHASH_SEED can set.
 */

#include <config.h>

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/manifest/crc32c.h"
#include "../lib/manifest/manifest-format.h"
#include "test-verify-nbdkit.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/params.h"

#define EXPORTS 5
#define BLOCK 128
#define BLOCKS (SIZE / BLOCK)
#define SIZE 200000
#define CLIENTS 4
#define ROUNDS 40
#define MAX_EXPORTS 10000       /* as in verify/export.c */
#define MAX_RANGES 1000         /* as in verify/status.c */
#define DIGEST_SIZE 32

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char manifests[50], list[50], output[50];
static unsigned seed;
static struct plugin plugins[EXPORTS];

/* ---- Disks ---- */

static void
path_of (const char *name, char *path)
{
  sprintf (path, "%s/%s.blkm", manifests, name);
}

/* Write the manifest NAME of the first SIZE bytes of disk NUMBER.  Returns the
 * sum, which the caller frees.
 */
static char *
write_manifest (const char *name, unsigned number, uint64_t size)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  char path[100], *sum;

  blkhash_opts_set_block_size (opts, BLOCK);
  path_of (name, path);
  sum = manifest_of (opts, plugins[number].bytes, size, path);
  blkhash_opts_free (opts);
  return sum;
}

static void
make_disk (unsigned number, FILE *sums)
{
  struct plugin *plugin = &plugins[number];
  char name[2] = { 'a' + number }, *sum;
  size_t i;

  plugin_init (plugin, SIZE);
  for (i = 0; i < SIZE; i++)
    plugin->bytes[i] = rand_r (&seed);
  sum = write_manifest (name, number, SIZE);
  fprintf (sums, "blk-sha256/128 (%s) = %s\n", name, strrchr (sum, ' ') + 1);
  free (sum);
}

/* The end record of a manifest.  Its CRC covers the manifest's header, too. */
struct end_record {
  unsigned char head[MANIFEST_HEAD_SIZE], md[DIGEST_SIZE];
  unsigned char tail[MANIFEST_TAIL_SIZE];
};

/* Replace the sum in the manifest NAME with that of the manifest FROM, and
 * adapt the CRC.
 */
static void
claim_sum (const char *name, const char *from)
{
  unsigned char header[MANIFEST_HEADER_SIZE];
  struct end_record end, other;
  char path[100];
  FILE *f;

  path_of (from, path);
  f = fopen (path, "r");
  fseek (f, -(long) sizeof other, SEEK_END);
  assert_int_equal (fread (&other, sizeof other, 1, f), 1);
  fclose (f);
  path_of (name, path);
  f = fopen (path, "r+");
  assert_int_equal (fread (header, sizeof header, 1, f), 1);
  fseek (f, -(long) sizeof end, SEEK_END);
  assert_int_equal (fread (&end, sizeof end, 1, f), 1);
  memcpy (end.md, other.md, sizeof end.md);
  manifest_put (end.tail, crc32c (crc32c (0, header, sizeof header), &end,
                                  sizeof end - sizeof end.tail), 4);
  fseek (f, -(long) sizeof end, SEEK_END);
  assert_int_equal (fwrite (&end, sizeof end, 1, f), 1);
  fclose (f);
}

/* ---- The server ---- */

/* PARAM is the parameter of the output file; NULL: the filter has no output. */
static void
start_with (const char *key, const char *value, const char *param)
{
  unlink (output);              /* the output of another PARAM is refused */
  assert_int_equal (start ("blkhash-verify-exports", manifests, key, value,
                           param, output, NULL), 0);
  assert_int_equal (filter->after_fork (NULL), 0);
}

static void
start_exports (const char *param)
{
  start_with ("blkhash-verify-sums", list, param);
}

/* Start a server that trusts the manifests, without checksums. */
static void
start_trusting (const char *param)
{
  start_with ("blkhash-verify-sum", "none", param);
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

/* A client connects to the export NAME, and disconnects before it knows the
 * size, as a port scanner does.
 */
static void
knock (const char *name)
{
  void *handle = open_export (name);

  assert_non_null (handle);
  filter->close (handle);
}

/* Read all of a disk. */
static void
copy (unsigned number)
{
  nbdkit_next *next = &plugins[number].next;
  char name[2] = { 'a' + number };
  static char buf[SIZE];
  void *handle = open_export (name);
  int err;

  assert_non_null (handle);
  assert_int_equal (filter->prepare (next, handle, 0), 0);
  assert_int_equal (filter->pread (next, handle, buf, SIZE, 0, 0, &err), 0);
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

/* Without an output, no export is kept after its last client. */
static void
test_forgotten (void **state)
{
  (void) state;
  start_exports (NULL);
  run_clients ();
  assert_null (exports_first_locked ());
  assert_int_equal (errors, 0);
  stop_exports ();
}

/* With an output, the states of the blocks are kept after the last client, but
 * no manifest is open.
 */
static void
test_remembered (void **state)
{
  const struct export *export;
  unsigned count = 0;

  (void) state;
  start_exports ("blkhash-verify-status");
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

static void
assert_refused (const char *name, const char *why)
{
  assert_null (open_export (name));
  if (!strstr (last_error, why))
    fail_msg ("expected: %s\n     got: %s", why, last_error);
}

/* The last error has no character that controls a terminal or ends a line. */
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
  static const struct {
    const char *name;
    bool is_file_name;
  } names[] = {
    { "", false }, { ".", false }, { "..", false }, { "/", false },
    { "a/", false }, { "./a", false }, { "../manifests/a", false },
    { "b/../a", false }, { "a\n/", false }, { "...", true }, { "z", true },
    { "A", true }, { "a.blkm", true }, { "\n", true }, { "\x1b[2Ja", true },
    { "a\r\b\x7f", true }, { "\xc2\x9b""2J", true }, { "\xff", true },
  };
  char longest[5000];
  size_t i;

  (void) state;
  start_exports ("blkhash-verify-status");
  for (i = 0; i < sizeof names / sizeof names[0]; i++) {
    assert_refused (names[i].name, names[i].is_file_name
                    ? "No such file" : "it cannot be the name of a file");
    assert_int_equal (errors, i + 1);
    assert_printable ();
  }
  memset (longest, 'a', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  assert_null (open_export (longest));
  assert_null (exports_first_locked ());
  stop_exports ();
}

/* Returns the export NAME, which the filter must have kept. */
static struct export *
find (const char *name)
{
  struct export *export = exports_first_locked ();

  while (export && strcmp (export->name, name) != 0)
    export = export->next;
  assert_non_null (export);
  return export;
}

static uint64_t
good_blocks (const char *name)
{
  return find (name)->disk->tally.counts[BLOCK_GOOD];
}

/* An export that is opened again keeps the states of its blocks, and CONNECTED,
 * which is set as soon as a client knows the size.
 */
static void
test_reopened (void **state)
{
  (void) state;
  start_exports ("blkhash-verify-file");
  visit (1, 0);
  visit (0, 0);
  knock ("b");
  knock ("a");
  assert_true (find ("a")->connected && find ("b")->connected);
  assert_int_equal (good_blocks ("a"), 1);
  knock ("c");
  knock ("c");
  assert_false (find ("c")->connected);
  copy (2);
  assert_int_equal (good_blocks ("b"), 1);
  stop_exports ();
}

/* An export that is opened again keeps HAS_SUM. */
static void
test_has_sum (void **state)
{
  (void) state;
  start_exports ("blkhash-verify-file");
  copy (0);
  filter->cleanup (NULL);       /* the result is written */
  assert_true (find ("a")->has_sum);
  knock ("a");
  assert_true (find ("a")->has_sum);
  stop ();
}

static void
assert_forgotten (void)
{
  knock ("a");
  assert_false (find ("a")->connected);
  assert_int_equal (good_blocks ("a"), 0);
}

static void
remove_manifest (const char *name)
{
  char path[100];

  path_of (name, path);
  assert_int_equal (unlink (path), 0);
}

/* When the manifest is replaced by that of another disk, the states of the
 * blocks are dropped, even if the new manifest has the sum of the old one, but
 * for a disk of another size.
 */
static void
test_replaced (void **state)
{
  (void) state;
  free (write_manifest ("x", 0, SIZE));
  start_trusting ("blkhash-verify-status");
  copy (0);
  free (write_manifest ("a", 1, SIZE));
  assert_forgotten ();
  free (write_manifest ("a", 0, SIZE));
  copy (0);
  free (write_manifest ("a", 0, SIZE / 2));
  claim_sum ("a", "x");
  assert_forgotten ();
  stop_exports ();
  free (write_manifest ("a", 0, SIZE));
  remove_manifest ("x");
}

/* A manifest can record a sum that is not that of its leaves.  Such a manifest
 * is refused if a checksum is given, or if the sum is needed for the result.
 */
static void
test_false_sum (void **state)
{
  (void) state;
  free (write_manifest ("x", 0, SIZE));
  free (write_manifest ("a", 1, SIZE));
  claim_sum ("a", "x");
  start_trusting ("blkhash-verify-status");
  knock ("a");
  stop_exports ();
  start_trusting ("blkhash-verify-file");
  assert_refused ("a", "the sum is not that of the leaves");
  stop_exports ();
  start_exports (NULL);
  assert_refused ("a", "the sum is not that of the leaves");
  stop_exports ();
  free (write_manifest ("a", 0, SIZE));
  remove_manifest ("x");
}

/* ---- File descriptors ---- */

#define MAX_FDS 1000

/* Store which file descriptors are open. */
static void
get_open (bool open[MAX_FDS])
{
  int fd;

  for (fd = 0; fd < MAX_FDS; fd++)
    open[fd] = fcntl (fd, F_GETFD) != -1;
}

static void
assert_same_open (const bool before[MAX_FDS])
{
  bool now[MAX_FDS];

  get_open (now);
  assert_memory_equal (now, before, sizeof now);
}

/* A manifest that is refused is closed. */
static void
test_refused (void **state)
{
  bool before[MAX_FDS];

  (void) state;
  free (write_manifest ("x", 0, SIZE));
  free (write_manifest ("b", 0, SIZE));
  start_exports (NULL);
  get_open (before);
  assert_refused ("x", "no checksum for the export of ");
  assert_same_open (before);
  assert_refused ("b", "its checksum is not ");
  assert_same_open (before);
  stop_exports ();
  free (write_manifest ("b", 1, SIZE));
  remove_manifest ("x");
}

/* Programs that nbdkit runs inherit no file descriptor of the filter.  At the
 * end the filter has closed all of its file descriptors.  While the server
 * runs, the directory of manifests can be renamed.
 */
static void
test_open_files (void **state)
{
  bool before[MAX_FDS];
  char renamed[60];
  void *handle;
  int fd;

  (void) state;
  get_open (before);
  start_exports ("blkhash-verify-status");
  sprintf (renamed, "%s-renamed", manifests);
  assert_int_equal (rename (manifests, renamed), 0);
  handle = open_export ("a");
  assert_int_equal (rename (renamed, manifests), 0);
  assert_non_null (handle);
  for (fd = 0; fd < MAX_FDS; fd++)
    if (!before[fd] && fcntl (fd, F_GETFD) == 0)
      fail_msg ("no FD_CLOEXEC: %d", fd);
  filter->close (handle);
  stop_exports ();
  assert_same_open (before);
}

/* ---- Limits ---- */

/* Make every other block of the export NAME bad, so that each bad block is a
 * range.
 */
static void
add_ranges (const char *name)
{
  uint64_t block;

  knock (name);
  for (block = 0; block < BLOCKS; block += 2)
    tally_set (&find (name)->disk->tally, block, BLOCK_BAD);
}

static unsigned
count (const char *text, const char *word)
{
  unsigned n = 0;

  while ((text = strstr (text, word))) {
    n++;
    text++;
  }
  return n;
}

/* The limit of bad ranges in the status is for all exports together. */
static void
test_ranges (void **state)
{
  static char text[1 << 20];
  FILE *f;

  (void) state;
  start_exports ("blkhash-verify-status");
  add_ranges ("a");
  add_ranges ("b");
  filter->cleanup (NULL);
  f = fopen (output, "r");
  assert_non_null (f);
  text[fread (text, 1, sizeof text - 1, f)] = '\0';
  fclose (f);
  assert_true (BLOCKS / 2 < MAX_RANGES && BLOCKS > MAX_RANGES);
  assert_int_equal (count (text, "{ \"offset\": "), MAX_RANGES);
  assert_int_equal (count (text, "\"bad-ranges-complete\": true"), 1);
  assert_int_equal (count (text, "\"bad-ranges-complete\": false"), 1);
  stop ();
}

/* Add COUNT exports to the list, as if clients had used them. */
static void
add_kept (unsigned count)
{
  struct export *first = exports_first_locked ();

  for (; count > 0; count--) {
    struct export *export = calloc (1, sizeof *export);

    assert_non_null (export);
    export->name = strdup ("kept");
    export->disk = calloc (1, sizeof *export->disk);
    assert_non_null (export->disk);
    export->disk->fd = -1;
    export->next = first->next;
    first->next = export;
  }
}

/* When the maximum number of exports is kept, only these are served. */
static void
test_limit (void **state)
{
  (void) state;
  start_exports ("blkhash-verify-status");
  filter->cleanup (NULL);       /* nothing is written any more */
  knock ("a");
  add_kept (MAX_EXPORTS - 2);
  knock ("b");
  assert_refused ("c", "too many exports are in use");
  knock ("a");
  knock ("b");
  stop ();
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
  sprintf (output, "%s/output", directory);
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
  unlink (output);
  return rmdir (manifests) == -1 ? -1 : rmdir (directory);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_forgotten),
    cmocka_unit_test (test_remembered),
    cmocka_unit_test (test_names),
    cmocka_unit_test (test_reopened),
    cmocka_unit_test (test_has_sum),
    cmocka_unit_test (test_replaced),
    cmocka_unit_test (test_false_sum),
    cmocka_unit_test (test_refused),
    cmocka_unit_test (test_open_files),
    cmocka_unit_test (test_ranges),
    cmocka_unit_test (test_limit),
  };

  seed = get_seed ();
  return cmocka_run_group_tests (tests, set_up, tear_down);
}
