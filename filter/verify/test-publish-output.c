/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: the files that the verify filter writes about a disk.
 *
 * Clients in threads read random ranges of a disk with faults, while the files
 * are written.  At the end the result, the status and the mapfile must match
 * the tally, which has the states of the blocks, even if no client has
 * connected.  Blocks that are zero in the manifest are verified after the last
 * client.  A file that cannot be written is empty.  The test prints its seed,
 * which BLKHASH_SEED can set.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/util.h"
#include "../lib/common/zero.h"
#include "verify/publish.h"
#include "verify/test-verify-nbdkit.h"
#include "verify/verify-disk.h"
#include "verify/verify-export.h"
#include "verify/verify-params.h"

#define BLOCK 4096
#define MAX_BLOCKS 3000
#define ROUNDS 30
#define CLIENTS 3

#define HEADER "# nbdkit-blkhash-verify-filter replaces this file\n"
#define UNKNOWN "# unknown a\\\\b: "

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char manifest[50], file[50], status[50], map[50];
static unsigned seed;
static struct plugin plugin;
static uint64_t size, blocks;
static bool zeros_are_skipped;
static char *sum;               /* "blk-sha256/4k = HEX" */

static uint64_t
any (unsigned *s, uint64_t limit) /* less than LIMIT */
{
  return rand_r (s) % limit;
}

/* ---- The server ---- */

/* ZERO is the value of blkhash-verify-zero; NULL: the default. */
static void
start_disk (const char *zero)
{
  zeros_are_skipped = zero && strcmp (zero, "skip") == 0;
  assert_int_equal (start ("blkhash-verify-manifest", manifest,
                           "blkhash-verify-sum", sum,
                           "blkhash-verify-file", file,
                           "blkhash-verify-status", status,
                           "blkhash-verify-mapfile", map,
                           "blkhash-verify-name", "a\\b",
                           zero ? "blkhash-verify-zero" : NULL, zero, NULL),
                    0);
  assert_int_equal (filter->after_fork (NULL), 0);
}

static void *
read_at_random (void *opaque)
{
  unsigned *s = opaque, i, reads = any (s, 30);
  unsigned char *buf = malloc (size);
  void *handle = open_export ("");
  int err;

  if (filter->prepare (&plugin.next, handle, 0) == -1)
    abort ();
  for (i = 0; i < reads; i++) {
    uint64_t offset = any (s, size), left = size - offset;

    filter->pread (&plugin.next, handle, buf,
                   1 + any (s, any (s, 2) ? left : MIN (left, 2 * BLOCK)),
                   offset, 0, &err);
  }
  if (any (s, 4) == 0)
    filter->pread (&plugin.next, handle, buf, size, 0, 0, &err);
  filter->finalize (&plugin.next, handle);
  filter->close (handle);
  free (buf);
  return NULL;
}

static void
run_clients (void)
{
  pthread_t threads[CLIENTS];
  unsigned seeds[CLIENTS], i;

  for (i = 0; i < CLIENTS; i++) {
    seeds[i] = seed + i;
    assert_int_equal (pthread_create (&threads[i], NULL, read_at_random,
                                      &seeds[i]), 0);
  }
  for (i = 0; i < CLIENTS; i++)
    pthread_join (threads[i], NULL);
}

/* ---- A disk ---- */

static uint64_t
any_size (void)
{
  return 1 + any (&seed, any (&seed, 2) ? 20 * BLOCK : MAX_BLOCKS * BLOCK);
}

static void
write_manifest (void)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");

  blkhash_opts_set_block_size (opts, BLOCK);
  sum = manifest_of (opts, plugin.bytes, size, manifest);
  blkhash_opts_free (opts);
}

static void
make_disk (uint64_t bytes)
{
  uint64_t i;

  size = bytes;
  blocks = DIV_ROUND_UP (size, BLOCK);
  plugin_init (&plugin, size);
  for (i = 0; i < size; i += 1 + any (&seed, 5 * BLOCK))
    plugin.bytes[i] = 1 + any (&seed, 255);
  write_manifest ();
  plugin.nr_faults = size > 0 && any (&seed, 2) ? any (&seed, 20) : 0;
  for (i = 0; i < plugin.nr_faults; i++) {
    struct fault *fault = &plugin.faults[i];

    fault->kind = any (&seed, 2) ? FAULT_FLIP : FAULT_FAIL;
    fault->start = any (&seed, size);
    fault->end = MIN (size, fault->start + 1 + any (&seed, 3 * BLOCK));
    fault->err = EIO;
    fault->times = any (&seed, 2) ? -1 : 1;
    fault->left = fault->times;
  }
}

/* ---- The files ---- */

static char *
content (const char *path)
{
  static char text[1 << 20];
  FILE *f = fopen (path, "r");
  size_t len;

  assert_non_null (f);
  len = fread (text, 1, sizeof text - 1, f);
  text[len] = '\0';
  fclose (f);
  return text;
}

/* Until a client has connected, each block counts as not read. */
static enum block_state
state_of (uint64_t block)
{
  const struct verify_export *export = verify_exports_first_locked ();
  enum block_state state = BLOCK_MISSING;

  if (export->connected)
    tally_get_run (&export->disk->tally, block, &state);
  return state;
}

/* The last block of the disk can be shorter. */
static uint64_t
size_of (uint64_t block)
{
  return MIN (size - block * BLOCK, BLOCK);
}

/* Returns the number of bytes in the blocks in STATE. */
static uint64_t
bytes_in (enum block_state state)
{
  uint64_t bytes = 0, i;

  for (i = 0; i < blocks; i++)
    if (state_of (i) == state)
      bytes += size_of (i);
  return bytes;
}

/* Returns the number of bytes in the zeros that the filter skips. */
static uint64_t
skipped_bytes (void)
{
  uint64_t bytes = 0, i;

  for (i = 0; i < blocks; i++)
    if (zeros_are_skipped && verify_exports_first_locked ()->connected &&
        is_zero (plugin.bytes + i * BLOCK, size_of (i)))
      bytes += size_of (i);
  return bytes;
}

/* Returns true if a client has connected, and each block is ok or differs.  If
 * all blocks are ok, there is a sum.
 */
static bool
is_complete (void)
{
  return verify_exports_first_locked ()->connected &&
    bytes_in (BLOCK_UNREADABLE) + bytes_in (BLOCK_MISSING) == 0;
}

static void
check_result (void)
{
  uint64_t bad = bytes_in (BLOCK_DIFFERS), zeros = skipped_bytes ();
  uint64_t unread = bytes_in (BLOCK_MISSING) - zeros;
  uint64_t unreadable = bytes_in (BLOCK_UNREADABLE);
  char expected[300], *end = expected;

  if (bad > 0)
    sprintf (expected, HEADER "# differs a\\\\b: %" PRIu64 " bytes\n", bad);
  else if (!is_complete ()) {
    end += sprintf (end, HEADER UNKNOWN);
    if (unreadable > 0)
      end += sprintf (end, "%" PRIu64 " bytes cannot be read, ", unreadable);
    if (unread > 0)
      end += sprintf (end, "%" PRIu64 " bytes are missing, ", unread);
    if (zeros > 0)
      end += sprintf (end, "%" PRIu64 " bytes of zeros are missing, ",
                      zeros);
    if (end[-2] == ',')
      end -= 2;
    strcpy (end, "\n");
  }
  else
    sprintf (expected, HEADER "\\blk-sha256/4k (a\\\\b) = %s\n",
             strrchr (sum, ' ') + 1);
  assert_string_equal (content (file), expected);
}

static void
assert_has (const char *text, const char *key, uint64_t value)
{
  char member[100];

  sprintf (member, "\"%s\": %" PRIu64 ",\n", key, value);
  if (!strstr (text, member))
    fail_msg ("no %s in %s", member, text);
}

/* Returns the ranges that the status must list; the caller frees the text. */
static char *
listed_ranges (void)
{
  const char *separator = "\n";
  uint64_t start, end;
  char *text;
  size_t len;
  FILE *out = open_memstream (&text, &len);

  assert_non_null (out);
  for (start = 0; start < blocks; start = end) {
    enum block_state found = state_of (start);

    for (end = start + 1; end < blocks && state_of (end) == found; end++)
      ;
    if (found == BLOCK_OK)
      continue;
    fprintf (out, "%s        { \"start\": %" PRIu64 ", \"length\": %" PRIu64
             ", \"result\": \"%s\" }", separator, start * BLOCK,
             MIN (end * BLOCK, size) - start * BLOCK,
             found == BLOCK_DIFFERS ? "differs"
             : found == BLOCK_UNREADABLE ? "unreadable" : "missing");
    separator = ",\n";
  }
  fclose (out);
  return text;
}

static void
check_status (void)
{
  const struct verify_export *export = verify_exports_first_locked ();
  const char *text = content (status);
  char *ranges = listed_ranges (), expected[300];

  snprintf (expected, sizeof expected, "\"finished\": true,\n"
            "  \"exports\": [\n    {\n      \"name\": \"a\\\\b\",\n"
            "      \"manifest\": \"%s\",\n      \"result\": \"%s\",\n",
            manifest, bytes_in (BLOCK_DIFFERS) > 0 ? "differs"
            : is_complete () ? "ok" : "unknown");
  assert_non_null (strstr (text, expected));
  assert_has (text, "size", size);
  assert_has (text, "block-size", BLOCK);
  assert_has (text, "verified-bytes", bytes_in (BLOCK_OK));
  assert_has (text, "differs-bytes", bytes_in (BLOCK_DIFFERS));
  assert_has (text, "unreadable-bytes", bytes_in (BLOCK_UNREADABLE));
  assert_has (text, "missing-bytes", bytes_in (BLOCK_MISSING));
  assert_has (text, "missing-zero-bytes", skipped_bytes ());
  assert_has (text, "transient-blocks", export->disk->tally.transient);
  text = strstr (text, "\"ranges\": [");
  assert_non_null (text);
  text = strchr (text, '[') + 1;
  assert_int_equal (strncmp (text, ranges, strlen (ranges)), 0);
  assert_string_equal (text + strlen (ranges),
                       " ],\n      \"ranges-complete\": true\n    }\n"
                       "  ]\n}\n");
  free (ranges);
}

static void
check_mapfile (void)
{
  const char *line = strstr (content (map), "size  status\n");
  uint64_t at = 0, start, length, i;
  char found, last = '\0';

  assert_non_null (line);
  for (; at < size; at += length) {
    line = strchr (line, '\n') + 1;
    assert_int_equal (sscanf (line, "%" SCNx64 " %" SCNx64 " %c", &start,
                              &length, &found), 3);
    assert_int_equal (start, at);
    assert_true (length > 0 && length <= size - at);
    assert_int_not_equal (found, last); /* adjacent ranges are joined */
    last = found;
    for (i = at; i < at + length; i += BLOCK)
      assert_int_equal ("?+--"[state_of (i / BLOCK)], found);
  }
  assert_int_equal (strchr (line, '\n')[1], '\0');
}

/* End the server, and check what it has written. */
static void
end_disk (void)
{
  filter->cleanup (NULL);
  check_result ();
  check_status ();
  check_mapfile ();
  unload ();
  plugin_destroy (&plugin);
  free (sum);
}

/* ---- Tests ---- */

static void
test_random (void **state)
{
  static const char *const zeros[] = { "read", "skip", NULL };
  unsigned i;

  (void) state;
  for (i = 0; i < ROUNDS; i++) {
    unlink (file);              /* start without an earlier result */
    make_disk (any_size ());
    start_disk (zeros[any (&seed, 3)]);
    run_clients ();
    end_disk ();
  }
}

/* No client connects. */
static void
test_no_client (void **state)
{
  static const uint64_t sizes[] = { 0, 1, BLOCK, BLOCK + 1, 100 * BLOCK };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    unlink (file);
    make_disk (sizes[i]);
    start_disk (NULL);
    end_disk ();
  }
}

/* ---- Zeros ---- */

#define DATA 50                 /* the only block of data; the last block of the
                                 * disk is short */
#define ZERO_BLOCKS 100
#define ZERO_SIZE (ZERO_BLOCKS * BLOCK - 10)

/* Which ranges the plugin's extents say are zero: first and last byte.  The
 * list ends with { 0, 0 }.
 */
static const uint64_t (*zero_extents)[2];
static bool extents_fail;

static int
plugin_extents (nbdkit_next *next, uint32_t count, uint64_t offset,
                uint32_t flags, struct nbdkit_extents *extents, int *err)
{
  const uint64_t (*zero)[2] = zero_extents;
  uint64_t end = offset + count;

  (void) next;
  assert_int_equal (flags, 0);
  *err = EIO;
  if (extents_fail)
    return -1;
  while (offset < end) {
    uint64_t to = end;
    uint32_t type = 0;

    while ((*zero)[1] > 0 && (*zero)[1] < offset)
      zero++;
    if ((*zero)[1] > 0 && offset < (*zero)[0])
      to = MIN (end, (*zero)[0]);
    else if ((*zero)[1] > 0) {
      to = MIN (end, (*zero)[1] + 1);
      type = NBDKIT_EXTENT_ZERO | ((zero - zero_extents) % 2
                                   ? NBDKIT_EXTENT_HOLE : 0);
    }
    nbdkit_add_extent (extents, offset, to - offset, type);
    offset = to;
  }
  return 0;
}

/* Start a server for a disk of zeros with one block of data, in which reads of
 * block FAULTY have a fault of KIND, unless it is negative.
 */
static void
start_zeros (const char *zero, int kind, uint64_t faulty)
{
  unlink (file);
  size = ZERO_SIZE;
  blocks = ZERO_BLOCKS;
  plugin_init (&plugin, size);
  plugin.next.extents = plugin_extents;
  plugin.can_extents = zero_extents != NULL;
  plugin.bytes[DATA * BLOCK] = 1;
  write_manifest ();
  if (kind >= 0) {
    plugin.nr_faults = 1;
    plugin.faults[0] = (struct fault) {
      .kind = kind, .start = faulty * BLOCK, .end = faulty * BLOCK + 1,
      .err = EIO, .times = -1, .left = -1
    };
  }
  start_disk (zero);
}

/* Returns what .pread returns. */
static int
read_zeros (void *handle, uint32_t count)
{
  unsigned char *buf = malloc (ZERO_SIZE);
  int err, r = filter->pread (&plugin.next, handle, buf, count, 0, 0, &err);

  assert_true (is_zero (buf, MIN (count, DATA * BLOCK)));
  free (buf);
  return r;
}

/* A client reads COUNT bytes of a disk of zeros with one block of data, in
 * which reads of block FAULTY have a fault of KIND, unless it is negative.
 * Returns the result, and sets *READS to the number of reads from the plugin.
 */
static char *
verify_zeros (const char *zero, uint32_t count, int kind, uint64_t faulty,
              unsigned *reads)
{
  void *handle;

  start_zeros (zero, kind, faulty);
  handle = open_export ("");
  assert_int_equal (filter->prepare (&plugin.next, handle, 0), 0);
  assert_int_equal (read_zeros (handle, count), 0);
  filter->finalize (&plugin.next, handle);
  filter->close (handle);
  *reads = plugin.reads;
  end_disk ();
  return content (file);
}

#define ZEROS (ZERO_SIZE - BLOCK)

static void
assert_zeros (const char *zero, uint32_t count, int kind, uint64_t faulty,
              const char *expected, unsigned expected_reads)
{
  unsigned reads;
  const char *text = verify_zeros (zero, count, kind, faulty, &reads);

  if (!strstr (text, expected))
    fail_msg ("expected: %s\n     got: %s", expected, text);
  assert_int_equal (reads, expected_reads);
}

static void
test_zeros (void **state)
{
  static const uint64_t all[][2] = {
    { 0, DATA * BLOCK - 1 }, { (DATA + 1) * BLOCK, ZERO_SIZE - 1 }, { 0, 0 }
  };
  /* Block 10 is in two extents, and block 20 is not zero as a whole. */
  static const uint64_t some[][2] = {
    { 0, 10 * BLOCK + 5 }, { 10 * BLOCK + 6, 20 * BLOCK + 9 },
    { 20 * BLOCK + 11, DATA * BLOCK - 1 },
    { (DATA + 1) * BLOCK, ZERO_SIZE - 1 }, { 0, 0 }
  };
  char text[200];

  (void) state;
  /* Clients get zeros without a read.  The rest is verified by the extents; the
   * zeros before and after the data are read at once if there are none.
   */
  zero_extents = all;
  assert_zeros (NULL, ZERO_SIZE, -1, 0, "(a\\\\b) = ", 1);
  zero_extents = some;
  assert_zeros (NULL, ZERO_SIZE, -1, 0, "(a\\\\b) = ", 2);
  assert_zeros ("extents", ZERO_SIZE, FAULT_FLIP, 20,
                "# differs a\\\\b: 4096 bytes", 3);
  extents_fail = true;
  assert_zeros (NULL, ZERO_SIZE, -1, 0, "(a\\\\b) = ", 3);
  extents_fail = false;
  zero_extents = NULL;
  assert_zeros (NULL, ZERO_SIZE, -1, 0, "(a\\\\b) = ", 3);
  assert_zeros (NULL, ZERO_SIZE, FAULT_FLIP, ZERO_BLOCKS - 1,
                "# differs a\\\\b: 4086 bytes", 4);

  /* Extents are believed, unless zeros are read. */
  zero_extents = all;
  assert_zeros (NULL, ZERO_SIZE, FAULT_FLIP, 20, "(a\\\\b) = ", 1);
  zero_extents = NULL;

  /* If a block cannot be read, the next ones are not tried. */
  sprintf (text, UNKNOWN "4096 bytes cannot be read, %d bytes are "
           "missing\n", ZEROS - 7 * BLOCK);
  assert_zeros (NULL, ZERO_SIZE, FAULT_FAIL, 6, text, 9);

  /* A client that does not read all data causes no read. */
  sprintf (text, UNKNOWN "%d bytes are missing\n", ZERO_SIZE);
  assert_zeros (NULL, DATA * BLOCK, -1, 0, text, 0);

  sprintf (text, UNKNOWN "%d bytes of zeros are missing\n", ZEROS);
  assert_zeros ("skip", ZERO_SIZE, -1, 0, text, 1);
}

static void *late;            /* its client connects during the pass */
static pthread_t second_thread;
static atomic_bool has_thread, is_connected;

static void *
connect_second (void *opaque)
{
  (void) opaque;
  if (filter->prepare (&plugin.next, late, 0) == -1)
    abort ();
  is_connected = true;
  return NULL;
}

static bool
second_waits (void)
{
  SCOPED_LOCK (&verify_exports_lock);

  return verify_exports_first_locked ()->waiting > 0;
}

static int
pread_in_pass (nbdkit_next *next, void *buf, uint32_t len, uint64_t offset,
               uint32_t flags, int *err)
{
  struct plugin *in = (struct plugin *) next;

  (void) flags; (void) err;
  if (!has_thread) {
    has_thread = true;
    if (pthread_create (&second_thread, NULL, connect_second, NULL) != 0)
      abort ();
  }
  while (!second_waits () && !is_connected)
    sched_yield ();
  in->reads++;
  memcpy (buf, in->bytes + offset, len);
  return 0;
}

/* The pass over the zeros reads the disk that was opened for a client which has
 * disconnected.  So it ends before the states begin anew for the next client.
 */
static void
test_client_in_pass (void **state)
{
  struct tally *tally;
  void *first;

  (void) state;
  start_zeros (NULL, -1, 0);
  first = open_export ("");
  late = open_export ("");
  assert_int_equal (filter->prepare (&plugin.next, first, 0), 0);
  assert_int_equal (read_zeros (first, ZERO_SIZE), 0);
  plugin.next.pread = pread_in_pass;
  filter->finalize (&plugin.next, first);
  assert_int_equal (pthread_join (second_thread, NULL), 0);
  tally = &verify_exports_first_locked ()->disk->tally;
  assert_int_equal (tally->counts[BLOCK_MISSING], ZERO_BLOCKS);
  assert_int_equal (plugin.reads, 2);
  filter->close (first);
  filter->close (late);
  end_disk ();
}

/* ---- States begin anew ---- */

/* Returns NULL if .prepare fails. */
static void *
connect_client (void)
{
  void *handle = open_export ("");

  assert_non_null (handle);
  if (filter->prepare (&plugin.next, handle, 0) == 0)
    return handle;
  filter->close (handle);
  return NULL;
}

static void
disconnect (void *handle)
{
  filter->finalize (&plugin.next, handle);
  filter->close (handle);
}

/* Read COUNT bytes from OFFSET on. */
static void
read_bytes (void *handle, uint32_t count, uint64_t offset)
{
  char *buf = malloc (count);
  int err;

  assert_int_equal (filter->pread (&plugin.next, handle, buf, count, offset, 0,
                                   &err), 0);
  free (buf);
}

/* The blocks that are missing, and those that are ok. */
static void
assert_blocks (uint64_t not_read, uint64_t good)
{
  const struct tally *tally = &verify_exports_first_locked ()->disk->tally;

  assert_int_equal (tally->counts[BLOCK_MISSING], not_read);
  assert_int_equal (tally->counts[BLOCK_OK], good);
}

/* Start a server for a disk of 20 blocks, with random data. */
static void
start_blocks (const char *fit, const char *fail)
{
  uint64_t i;

  unlink (file);
  make_disk (20 * BLOCK);
  plugin.nr_faults = 0;
  free (sum);
  for (i = 0; i < size; i++)
    plugin.bytes[i] = 1 + any (&seed, 255);
  write_manifest ();
  zeros_are_skipped = false;
  assert_int_equal (start ("blkhash-verify-manifest", manifest,
                           "blkhash-verify-sum", sum,
                           "blkhash-verify-size", fit,
                           "blkhash-verify-fail", fail,
                           "blkhash-verify-file", file,
                           "blkhash-verify-status", status,
                           "blkhash-verify-mapfile", map,
                           "blkhash-verify-name", "a\\b", NULL), 0);
  assert_int_equal (filter->after_fork (NULL), 0);
}

/* The disk is another one when the next client connects. */
static void
test_first_client (void **state)
{
  void *first, *second;

  (void) state;
  start_blocks ("exact", "error");
  first = connect_client ();
  read_bytes (first, 10 * BLOCK, 0);
  second = connect_client ();   /* the first one is still there */
  assert_blocks (10, 10);
  disconnect (first);
  read_bytes (second, 10 * BLOCK, 10 * BLOCK);
  assert_blocks (0, 20);
  disconnect (second);
  assert_blocks (0, 20);
  first = connect_client ();
  assert_blocks (20, 0);
  read_bytes (first, 10 * BLOCK, 10 * BLOCK);
  filter->close (first);        /* without .finalize */
  first = connect_client ();
  assert_blocks (20, 0);
  read_bytes (first, 100, 5);
  read_bytes (first, 100, 5);   /* from the cache */
  assert_blocks (19, 1);
  disconnect (first);
  first = connect_client ();
  read_bytes (first, 100, 5);   /* not from the cache */
  assert_blocks (19, 1);
  read_bytes (first, 20 * BLOCK, 0);
  disconnect (first);
  end_disk ();
}

/* The size of the plugin's disk is another one, which fits or not. */
static void
test_size (void **state)
{
  void *first, *second;
  unsigned i;

  (void) state;
  for (i = 0; i < 2; i++) {
    bool fits = i == 1;

    start_blocks (fits ? "truncate" : "exact", "error");
    first = connect_client ();
    read_bytes (first, 19 * BLOCK, 0);
    plugin.size++;
    second = connect_client ();
    plugin.size--;
    assert_true (fits == (second != NULL));
    assert_blocks (20, 0);
    read_bytes (first, BLOCK, 19 * BLOCK);
    assert_blocks (19, 1);
    disconnect (first);
    if (second)
      disconnect (second);
    end_disk ();
  }
}

/* A block is bad on the disk of one client, and good on that of another, which
 * has not read the other blocks; and the other way round.
 */
static void
test_contradiction (void **state)
{
  static const struct fault fault = {
    .kind = FAULT_FLIP, .start = 7 * BLOCK, .end = 7 * BLOCK + 1,
    .times = -1, .left = -1
  };
  void *first, *second;

  (void) state;
  start_blocks ("exact", "warn");
  plugin.faults[0] = fault;
  plugin.nr_faults = 1;
  first = connect_client ();
  second = connect_client ();
  read_bytes (first, 20 * BLOCK, 0);
  assert_blocks (0, 19);
  plugin.nr_faults = 0;
  errors = 0;
  read_bytes (second, BLOCK, 7 * BLOCK);
  assert_blocks (19, 1);
  assert_int_equal (errors, 1);
  assert_non_null (strstr (last_error, "4096 bytes at 28672 differed when they "
                           "were read before; the disk has changed"));
  read_bytes (second, 20 * BLOCK, 0);
  assert_blocks (0, 20);
  plugin.nr_faults = 1;
  read_bytes (first, BLOCK, 7 * BLOCK);
  assert_blocks (19, 0);
  disconnect (first);
  disconnect (second);
  end_disk ();
}

/* A file is emptied if it cannot be replaced.  Here the file that would replace
 * it cannot be created, because a directory has the same name.
 */
static void
test_unwritable (void **state)
{
  char beside[sizeof map + 12];

  (void) state;
  unlink (file);
  make_disk (any_size ());
  start_disk (NULL);
  sprintf (beside, "%s.blkhash-new", map);
  while (mkdir (beside, 0700) == -1) /* the filter may be writing now */
    assert_int_equal (errno, EEXIST);
  run_clients ();
  filter->cleanup (NULL);
  assert_non_null (strstr (last_error,
                           "blkhash-verify-mapfile: cannot write /tmp/"));
  assert_string_equal (content (map), "");
  check_status ();
  unload ();
  assert_int_equal (rmdir (beside), 0);
  plugin_destroy (&plugin);
  free (sum);
}

/* A file that cannot be read neither begins with the signature nor with other
 * bytes.
 */
static void
test_signature (void **state)
{
  int fd = open (directory, O_RDONLY);

  (void) state;
  assert_int_equal (publish_examine (fd, "x"), FILE_UNEXAMINED);
  assert_int_equal (errno, EISDIR);
  close (fd);
}

static int
set_up (void **state)
{
  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (manifest, "%s/manifest", directory);
  sprintf (file, "%s/file", directory);
  sprintf (status, "%s/status", directory);
  sprintf (map, "%s/map", directory);
  return 0;
}

/* The last test, because cmocka ignores an error of the tear-down.  rmdir fails
 * if the filter left another file.
 */
static void
test_nothing_left (void **state)
{
  (void) state;
  unlink (manifest);
  unlink (file);
  unlink (status);
  unlink (map);
  assert_int_equal (rmdir (directory), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_no_client),
    cmocka_unit_test (test_zeros),
    cmocka_unit_test (test_client_in_pass),
    cmocka_unit_test (test_first_client),
    cmocka_unit_test (test_size),
    cmocka_unit_test (test_contradiction),
    cmocka_unit_test (test_unwritable),
    cmocka_unit_test (test_signature),
    cmocka_unit_test (test_nothing_left),
  };

  seed = get_seed ();
  return cmocka_run_group_tests (tests, set_up, NULL);
}
