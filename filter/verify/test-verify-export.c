/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: the verify filter with a manifest for each export.
 *
 * Clients in threads connect to random exports, read their disks, and
 * disconnect, while the filter writes its output.  Then single clients test
 * what the filter keeps of unused exports, which names and manifests it
 * refuses, which files it has open, and its limits.  The last tests are about
 * the time and memory for a manifest that is not proven yet.  The test prints
 * its seed, which BLKHASH_SEED can set.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
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

#include "../lib/manifest/manifest-format.h"
#include "verify/test-verify-nbdkit.h"
#include "verify/verify-disk.h"
#include "verify/verify-export.h"
#include "verify/verify-params.h"

#define EXPORTS 5
#define BLOCK 128
#define BLOCKS (SIZE / BLOCK)
#define SIZE 200000
#define MANY_BLOCKS (4 * 65536) /* the filter asks nbdkit at least thrice
                                 * while it hashes these */
#define MAX_OPEN 64             /* as in verify-export.c */
#define CLIENTS 4
#define ROUNDS 40
#define MAX_EXPORTS 10000       /* as in verify-export.c */
#define STATUS_MAX_RANGES 1000  /* as in publish.c, also of those that are
                                 * missing */
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
  assert_int_equal (start ("blkhash-verify-manifest-dir", manifests, key, value,
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
  unload ();
}

/* ---- Clients ---- */

/* Returns the handle of a client of the export NAME, or NULL.  The plugin's
 * disk is that of the first letter of NAME, or the first one.
 */
static void *
connect_client (const char *name)
{
  unsigned number = *name - 'a';
  nbdkit_next *next = &plugins[number < EXPORTS ? number : 0].next;
  void *handle = open_export (name);

  if (!handle || filter->prepare (next, handle, 0) == 0)
    return handle;
  filter->close (handle);
  return NULL;
}

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

/* A client connects to the export NAME, and disconnects. */
static void
knock (const char *name)
{
  void *handle = connect_client (name);

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
  assert_null (verify_exports_first_locked ());
  assert_int_equal (errors, 0);
  stop_exports ();
}

/* With an output, the states of the blocks are kept after the last client, but
 * no manifest is open.
 */
static void
test_remembered (void **state)
{
  const struct verify_export *export;
  unsigned count = 0;

  (void) state;
  start_exports ("blkhash-verify-status");
  run_clients ();
  for (export = verify_exports_first_locked (); export; export = export->next) {
    count++;
    assert_int_equal (export->users, 0);
    assert_int_equal (export->disk->fd, -1);
    assert_int_not_equal (export->disk->tally.counts[BLOCK_OK], 0);
  }
  assert_in_range (count, 1, EXPORTS);
  assert_int_equal (errors, 0);
  stop_exports ();
}

static void
assert_refused (const char *name, const char *why)
{
  assert_null (connect_client (name));
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
  assert_null (verify_exports_first_locked ());
  stop_exports ();
}

/* Returns the export NAME, which the filter must have kept. */
static struct verify_export *
find (const char *name)
{
  struct verify_export *export = verify_exports_first_locked ();

  while (export && strcmp (export->name, name) != 0)
    export = export->next;
  assert_non_null (export);
  return export;
}

static uint64_t
good_blocks (const char *name)
{
  return find (name)->disk->tally.counts[BLOCK_OK];
}

/* The states of the blocks, and CONNECTED, are kept until another client is
 * connected.  A client that disconnects before the manifest was read leaves
 * nothing.
 */
static void
test_reopened (void **state)
{
  (void) state;
  start_exports ("blkhash-verify-file");
  visit (1, 0);
  visit (0, 0);
  assert_true (find ("a")->connected && find ("b")->connected);
  assert_int_equal (good_blocks ("a"), 1);
  filter->close (open_export ("b"));
  filter->close (open_export ("a"));
  assert_true (find ("a")->connected && find ("b")->connected);
  assert_int_equal (good_blocks ("a"), 1);
  visit (0, 500 * BLOCK);
  assert_int_equal (good_blocks ("a"), 1);
  filter->close (open_export ("c"));
  assert_string_equal (verify_exports_first_locked ()->name, "a");
  copy (2);
  assert_int_equal (good_blocks ("b"), 1);
  stop_exports ();
}

static void
assert_forgotten (void)
{
  knock ("a");
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
  plugins[0].size = SIZE / 2;
  assert_forgotten ();
  plugins[0].size = SIZE;
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
  assert_refused ("x", "no sum for the export of ");
  assert_same_open (before);
  assert_refused ("b", "its sum is not ");
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
  handle = connect_client ("a");
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

/* Let every other block of the export NAME differ, so that each block is a
 * range.
 */
static void
add_ranges (const char *name)
{
  uint64_t block;
  bool reset;

  knock (name);
  for (block = 0; block < BLOCKS; block += 2)
    tally_set (&find (name)->disk->tally, &(struct tally_read) { .next = NULL },
               block, BLOCK_DIFFERS, &reset);
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

/* The limits of ranges in the status are for all exports together. */
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
  assert_true (BLOCKS / 2 < STATUS_MAX_RANGES && BLOCKS > STATUS_MAX_RANGES);
  assert_int_equal (count (text, "\"differs\" }"), STATUS_MAX_RANGES);
  assert_int_equal (count (text, "\"missing\" }"), STATUS_MAX_RANGES);
  assert_int_equal (count (text, "\"ranges-complete\": true"), 1);
  assert_int_equal (count (text, "\"ranges-complete\": false"), 1);
  unload ();
}

/* Add COUNT exports to the list, as if clients had used them. */
static void
add_kept (unsigned count)
{
  struct verify_export *first = verify_exports_first_locked ();

  for (; count > 0; count--) {
    struct verify_export *export = calloc (1, sizeof *export);

    assert_non_null (export);
    export->is_listed = true;
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
  unload ();
}

/* ---- Manifests that are not proven yet ---- */

static atomic_uint computed;    /* sums of manifests */
static atomic_bool old_times;   /* all files have the same times for fstat, old
                                 * ones */
static atomic_size_t allocated; /* by calloc, bytes */

int __real_manifest_sum_final (void *sum, uint64_t size, unsigned char *md);
int __wrap_manifest_sum_final (void *sum, uint64_t size, unsigned char *md);
int __wrap_fstat (int fd, struct stat *st);
void *__real_calloc (size_t count, size_t size);
void *__wrap_calloc (size_t count, size_t size);

int
__wrap_manifest_sum_final (void *sum, uint64_t size, unsigned char *md)
{
  computed++;
  return __real_manifest_sum_final (sum, size, md);
}

int
__wrap_fstat (int fd, struct stat *st)
{
  int r = fstatat (fd, "", st, AT_EMPTY_PATH);

  if (old_times)
    st->st_mtim = st->st_ctim = (struct timespec) { .tv_sec = 1 };
  return r;
}

/* The names of fstat in programs with 64-bit offsets and times. */
int __wrap_fstat64 (int fd, struct stat *st)
  __attribute__ ((alias ("__wrap_fstat")));
int __wrap___fstat64_time64 (int fd, struct stat *st)
  __attribute__ ((alias ("__wrap_fstat")));

void *
__wrap_calloc (size_t count, size_t size)
{
  allocated += count * size;
  return __real_calloc (count, size);
}

/* Write the manifest NAME of MANY_BLOCKS blocks: zeros, and DATA data blocks,
 * at regular distances.
 */
static void
write_many (const char *name, unsigned data)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  size_t size = MANY_BLOCKS * 4, i;
  unsigned before = computed;
  unsigned char *bytes = calloc (1, size);
  char path[100];

  assert_non_null (bytes);
  for (i = 0; i < data; i++)
    bytes[size / data * i] = 1;
  blkhash_opts_set_block_size (opts, 4);
  path_of (name, path);
  free (manifest_of (opts, bytes, size, path));
  blkhash_opts_free (opts);
  free (bytes);
  computed = before;
}

/* Start a server for "z", with many blocks, and the other exports.  The sums in
 * the manifests are verified.
 */
static void
start_many (void)
{
  write_many ("z", 0);
  plugins[0].size = MANY_BLOCKS * 4;
  start_trusting ("blkhash-verify-file");
  computed = 0;
}

static void
stop_many (void)
{
  stop_exports ();
  on_sleep = NULL;
  old_times = false;
  plugins[0].size = SIZE;
  remove_manifest ("z");
}

static unsigned sleeps;

static int
visit_b (void)
{
  if (sleeps++ == 0)
    visit (1, 0);
  return 0;
}

/* While a manifest is hashed, another one is opened, read and used. */
static void
test_opened_meanwhile (void **state)
{
  (void) state;
  start_many ();
  sleeps = 0;
  on_sleep = visit_b;
  knock ("z");
  assert_in_range (sleeps, 3, 100);
  assert_int_equal (good_blocks ("b"), 1);
  stop_many ();
}

static void
link_many (const char *name)
{
  char from[100], to[100];

  path_of ("z", from);
  path_of (name, to);
  assert_int_equal (link (from, to), 0);
}

/* The manifest of each export is opened while that of the one before is hashed.
 */
static int
open_next (void)
{
  char name[10];

  sprintf (name, "z%u", ++sleeps);
  if (sleeps < MAX_OPEN)
    knock (name);
  else {
    on_sleep = NULL;
    assert_refused (name, "too many exports are in use");
    assert_int_equal (computed, 0);
  }
  return 0;
}

static void
test_openings (void **state)
{
  char name[10];
  unsigned i;

  (void) state;
  start_many ();
  for (i = 1; i <= MAX_OPEN; i++) {
    sprintf (name, "z%u", i);
    link_many (name);
  }
  sleeps = 0;
  on_sleep = open_next;
  knock ("z");
  assert_int_equal (sleeps, MAX_OPEN);
  for (i = 1; i <= MAX_OPEN; i++) {
    sprintf (name, "z%u", i);
    remove_manifest (name);
  }
  stop_many ();
}

static int
end_at_second (void)
{
  return ++sleeps == 2 ? -1 : 0;
}

/* The client or nbdkit is ending: the hashing ends. */
static void
test_ending (void **state)
{
  (void) state;
  start_many ();
  sleeps = 0;
  on_sleep = end_at_second;
  assert_refused ("z", strerror (ECANCELED));
  assert_int_equal (sleeps, 2);
  assert_int_equal (computed, 0);
  assert_null (verify_exports_first_locked ());
  knock ("z");
  assert_int_equal (computed, 1);
  stop_many ();
}

static pthread_t first_thread;
static atomic_bool is_hashing, is_waited_for;
static int first_result;        /* of nbdkit_nanosleep in the first thread */

static int
wait_for_other (void)
{
  const struct timespec interval = { .tv_nsec = 1000000 };

  if (!pthread_equal (pthread_self (), first_thread)) {
    is_waited_for = true;
    return 0;
  }
  is_hashing = true;
  while (!is_waited_for)
    nanosleep (&interval, NULL);
  return first_result;
}

static void *
connect_first (void *opaque)
{
  (void) opaque;
  first_thread = pthread_self ();
  on_sleep = wait_for_other;
  return connect_client ("z");
}

/* Two clients of an export: the second waits for the first, whose
 * nbdkit_nanosleep returns RESULT.
 */
static void
open_twice (int result)
{
  const struct timespec interval = { .tv_nsec = 1000000 };
  void *first, *second;
  pthread_t thread;

  start_many ();
  first_result = result;
  is_hashing = is_waited_for = false;
  assert_int_equal (pthread_create (&thread, NULL, connect_first, NULL), 0);
  while (!is_hashing)
    nanosleep (&interval, NULL);
  second = connect_client ("z");
  pthread_join (thread, &first);
  assert_non_null (second);
  assert_true (result == 0 ? first != NULL : first == NULL);
  assert_int_equal (computed, 1);
  assert_int_equal (find ("z")->users, result == 0 ? 2 : 1);
  filter->close (second);
  if (first)
    filter->close (first);
  stop_many ();
}

static void
test_waiting (void **state)
{
  (void) state;
  open_twice (0);
}

/* The first client is gone: the second one continues. */
static void
test_waiting_for_gone (void **state)
{
  (void) state;
  open_twice (-1);
}

/* The client that waits is gone. */
static int
end_waiting (void)
{
  static bool is_inside;

  if (is_inside)
    return -1;
  is_inside = true;
  assert_null (connect_client ("z"));
  is_inside = false;
  return 0;
}

static void
test_waiting_ends (void **state)
{
  (void) state;
  start_many ();
  on_sleep = end_waiting;
  knock ("z");
  assert_int_equal (computed, 1);
  stop_many ();
}

/* The sum of a manifest is computed once. */
static void
test_verified_once (void **state)
{
  (void) state;
  start_many ();
  knock ("z");
  knock ("z");
  assert_int_equal (computed, 1);
  link_many ("z2");             /* this changes the time of the last change */
  knock ("z");
  knock ("z2");
  assert_int_equal (computed, 2);
  remove_manifest ("z2");
  stop_many ();
}

/* The content of a verified manifest changes, but not the times of the file:
 * it is verified again.
 */
static void
test_verified_changed (void **state)
{
  (void) state;
  start_many ();
  old_times = true;
  knock ("z");
  write_many ("z2", 100);
  claim_sum ("z", "z2");
  assert_refused ("z", "the sum is not that of the leaves");
  assert_int_equal (computed, 2);
  remove_manifest ("z2");
  stop_many ();
}

/* A manifest was refused: this is remembered, unless it was modified just
 * before it was read.
 */
static void
test_refused_once (void **state)
{
  unsigned i;

  (void) state;
  start_many ();
  write_many ("z2", 100);
  claim_sum ("z", "z2");
  for (i = 1; i < 3; i++) {
    assert_refused ("z", "the sum is not that of the leaves");
    assert_int_equal (computed, i);
  }
  old_times = true;
  for (i = 0; i < 3; i++) {
    assert_refused ("z", "the sum is not that of the leaves");
    assert_int_equal (computed, 3);
  }
  remove_manifest ("z2");
  write_many ("z2", 0);         /* another file */
  knock ("z2");
  assert_int_equal (computed, 4);
  remove_manifest ("z2");
  stop_many ();
}

/* A manifest that has more blocks than the plugin's disk is not hashed. */
static void
test_larger (void **state)
{
  (void) state;
  start_many ();
  plugins[0].size--;
  assert_refused ("z", "blkhash-verify: the disk has ");
  stop_exports ();
  assert_int_equal (start ("blkhash-verify-manifest-dir", manifests,
                           "blkhash-verify-sum", "none",
                           "blkhash-verify-size", "truncate",
                           "blkhash-verify-file", output, NULL), 0);
  assert_refused ("z", "blkhash-verify: the disk has ");
  assert_int_equal (computed, 0);
  stop_many ();
}

/* No memory is allocated for the states of blocks that only the manifest calls
 * zero, whether its sum matches or not.  Each page of states has a data block,
 * so that each would need memory.
 */
static void
test_memory (void **state)
{
  const size_t pages = MANY_BLOCKS / 2; /* 4 bits for each block */

  (void) state;
  start_many ();
  write_many ("z2", 1000);
  write_many ("z3", 500);
  allocated = 0;
  knock ("z2");
  assert_in_range (allocated, 0, pages / 2);
  claim_sum ("z2", "z3");
  allocated = 0;
  assert_refused ("z2", "the sum is not that of the leaves");
  assert_in_range (allocated, 0, pages / 2);
  remove_manifest ("z2");
  remove_manifest ("z3");
  stop_many ();
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

/* The last test, because cmocka ignores an error of the tear-down.  rmdir fails
 * if the filter left another file.
 */
static void
test_nothing_left (void **state)
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
  assert_int_equal (rmdir (manifests), 0);
  assert_int_equal (rmdir (directory), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_forgotten),
    cmocka_unit_test (test_remembered),
    cmocka_unit_test (test_names),
    cmocka_unit_test (test_reopened),
    cmocka_unit_test (test_replaced),
    cmocka_unit_test (test_false_sum),
    cmocka_unit_test (test_refused),
    cmocka_unit_test (test_open_files),
    cmocka_unit_test (test_ranges),
    cmocka_unit_test (test_limit),
    cmocka_unit_test (test_opened_meanwhile),
    cmocka_unit_test (test_openings),
    cmocka_unit_test (test_ending),
    cmocka_unit_test (test_waiting),
    cmocka_unit_test (test_waiting_for_gone),
    cmocka_unit_test (test_waiting_ends),
    cmocka_unit_test (test_verified_once),
    cmocka_unit_test (test_verified_changed),
    cmocka_unit_test (test_refused_once),
    cmocka_unit_test (test_larger),
    cmocka_unit_test (test_memory),
    cmocka_unit_test (test_nothing_left),
  };

  seed = get_seed ();
  return cmocka_run_group_tests (tests, set_up, NULL);
}
