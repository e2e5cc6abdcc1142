/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: repair of bad blocks from files, compared with a model.
 *
 * The plugin's disk and up to three sources are damaged at random.  A source
 * can also be shorter, longer, or a disk of zeros.  A request must succeed,
 * with the right content, if each of its blocks is good on the plugin or in a
 * source, and must fail otherwise.  With blkhash-verify-repair-write, the
 * plugin checks every write: it must be the right content of a block that is
 * bad at that moment, and there may be no more writes than
 * blkhash-verify-repair-limit allows.  Prints the seed, and takes BLKHASH_SEED
 * and BLKHASH_ROUNDS.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
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

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "../lib/common/strata.h"
#include "../lib/common/zero.h"
#include "test-verify-nbdkit.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/params.h"

#define BLOCK 4096
#define MAX_BLOCKS 40
#define SOURCES 3
#define THREADS 4

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char manifest[50], source_paths[SOURCES][50];
static unsigned seed, rounds = 150;

static uint64_t
any_of (unsigned *s, uint64_t limit) /* less than LIMIT */
{
  return rand_r (s) % limit;
}

static uint64_t
any (uint64_t limit)
{
  return any_of (&seed, limit);
}

/* ---- The plugin ---- */

static struct plugin plugin;    /* with the bytes of the damaged disk */
static unsigned char truth[MAX_BLOCKS * BLOCK];
static uint64_t size, blocks;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static bool unreadable[MAX_BLOCKS];
static unsigned writes[MAX_BLOCKS], bad_writes, unflushed;
static unsigned good_after;     /* from this read on, the disk is good */
static unsigned empty_after;    /* from this read on, reads store nothing */
static int read_error;          /* of unreadable blocks */
static unsigned reads;

/* Set before clients are connected. */
static enum { WRITE, WRITE_FAILS, WRITE_IS_LOST, FLUSH_FAILS } write_kind;
static int can_write, can_flush, can_fua;

static uint64_t
size_of (uint64_t block)
{
  return MIN (size - block * BLOCK, BLOCK);
}

static bool
is_good_locked (uint64_t block)
{
  return !unreadable[block] &&
    memcmp (plugin.bytes + block * BLOCK, truth + block * BLOCK,
            size_of (block)) == 0;
}

static int
plugin_pread (nbdkit_next *next, void *buf, uint32_t len, uint64_t offset,
              uint32_t flags, int *err)
{
  uint64_t block;
  SCOPED_LOCK (&lock);

  (void) next;
  assert (flags == 0 && len > 0 && offset + len <= plugin.size);
  reads++;
  if (good_after > 0 && --good_after == 0)
    memcpy (plugin.bytes, truth, size);
  for (block = offset / BLOCK; block * BLOCK < MIN (offset + len, size);
       block++)
    if (unreadable[block]) {
      *err = read_error;
      return -1;
    }
  if (empty_after == 0 || --empty_after > 0)
    memcpy (buf, plugin.bytes + offset, len);
  else
    empty_after = 1;
  return 0;
}

static int
plugin_pwrite (nbdkit_next *next, const void *buf, uint32_t len,
               uint64_t offset, uint32_t flags, int *err)
{
  uint64_t block = offset / BLOCK;
  bool fua = flags & NBDKIT_FLAG_FUA;
  SCOPED_LOCK (&lock);

  (void) next;
  if (!can_write || (flags & ~NBDKIT_FLAG_FUA) || (fua && !can_fua) ||
      len == 0 || block >= blocks ||
      offset + len > block * BLOCK + size_of (block) ||
      len > (plugin.max ? plugin.max : UINT32_MAX) ||
      memcmp (buf, truth + offset, len) != 0)
    bad_writes++;
  if (offset == block * BLOCK) {
    bad_writes += is_good_locked (block);
    writes[block]++;
  }
  unflushed += !fua;
  if (write_kind == WRITE_FAILS) {
    *err = ENOSPC;
    return -1;
  }
  if (write_kind == WRITE_IS_LOST)
    return 0;
  memcpy (plugin.bytes + offset, buf, len);
  if (offset + len == block * BLOCK + size_of (block))
    unreadable[block] = false;
  return 0;
}

static int
plugin_flush (nbdkit_next *next, uint32_t flags, int *err)
{
  SCOPED_LOCK (&lock);

  (void) next;
  bad_writes += flags != 0 || can_flush != 1;
  unflushed = 0;
  if (write_kind != FLUSH_FAILS)
    return 0;
  *err = EIO;
  return -1;
}

static int
plugin_can_write (nbdkit_next *next)
{
  (void) next;
  return can_write;
}

static int
plugin_can_flush (nbdkit_next *next)
{
  (void) next;
  return can_flush;
}

static int
plugin_can_fua (nbdkit_next *next)
{
  (void) next;
  return can_fua;
}

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

/* ---- The disks ---- */

static bool in_source[SOURCES][MAX_BLOCKS];

static void
write_file (const char *path, const void *bytes, size_t len)
{
  FILE *f = fopen (path, "w");

  assert_non_null (f);
  assert_int_equal (fwrite (bytes, 1, len, f), len);
  fclose (f);
}

/* Returns the sum, which the caller frees. */
static char *
write_manifest (void)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  char *sum;

  blkhash_opts_set_block_size (opts, BLOCK);
  sum = manifest_of (opts, truth, size, manifest);
  blkhash_opts_free (opts);
  return sum;
}

static void
make_truth (uint64_t bytes, char **sum)
{
  uint64_t i;

  size = bytes;
  blocks = DIV_ROUND_UP (size, BLOCK);
  for (i = 0; i < size; i++)
    truth[i] = rand_r (&seed);
  for (i = 0; i < blocks; i++)
    if (any (6) == 0)
      memset (truth + i * BLOCK, 0, size_of (i));
  plugin_init (&plugin, size);
  memcpy (plugin.bytes, truth, size);
  plugin.next.pread = plugin_pread;
  plugin.next.pwrite = plugin_pwrite;
  plugin.next.flush = plugin_flush;
  plugin.next.can_write = plugin_can_write;
  plugin.next.can_flush = plugin_can_flush;
  plugin.next.can_fua = plugin_can_fua;
  *sum = write_manifest ();
  memset (unreadable, 0, sizeof unreadable);
  memset (writes, 0, sizeof writes);
  bad_writes = unflushed = 0;
  write_kind = WRITE;
  can_write = can_flush = 1;
  can_fua = NBDKIT_FUA_EMULATE;
  good_after = empty_after = 0;
  read_error = ENODATA;
  reads = 0;
  plugin.multi_conn = 1;
}

/* Damage about one of N blocks. */
static void
damage_plugin (unsigned n)
{
  uint64_t i;

  for (i = 0; i < blocks; i++)
    if (any (n) == 0) {
      unreadable[i] = any (3) == 0;
      plugin.bytes[i * BLOCK + any (size_of (i))] ^= 1 << any (8);
    }
}

/* Make a damaged source.  It can also be a disk of zeros, too short or too
 * long.
 */
static void
make_source (unsigned number)
{
  unsigned char *bytes = calloc (1, size + 2 * BLOCK);
  unsigned n = 1 + any (4);
  uint64_t len = any (3) ? size : any (size + 2 * BLOCK), i;

  if (any (5))
    memcpy (bytes, truth, size);
  for (i = 0; i < blocks; i++)
    if (any (n) == 0)
      bytes[i * BLOCK + any (size_of (i))] ^= 1 << any (8);
  for (i = 0; i < blocks; i++)
    in_source[number][i] = i * BLOCK + size_of (i) <= len &&
      memcmp (bytes + i * BLOCK, truth + i * BLOCK, size_of (i)) == 0;
  write_file (source_paths[number], bytes, len);
  free (bytes);
}

/* ---- The server ---- */

static bool read_zeros, is_writing;
static const char *limit;       /* of writes */
static unsigned nr_sources;
static char *sum;

#define SOURCE(i) \
  nr_sources > i ? "blkhash-verify-repair" : NULL, source_paths[i]

static void
start_server (void)
{
  assert_int_equal (
    start ("blkhash-verify-manifest", manifest, "blkhash-verify-sum", sum,
           "blkhash-verify-zero", read_zeros ? "read" : "skip",
           "blkhash-verify-repair-write", is_writing ? "true" : "false",
           "blkhash-verify-repair-limit", limit,
           SOURCE (0), SOURCE (1), SOURCE (2), NULL), 0);
  open_readonly = !is_writing;
}

static void
stop_server (void)
{
  stop ();
  open_readonly = 1;
  assert_int_equal (bad_writes, 0);
  plugin_destroy (&plugin);
  free (sum);
}

static void *
connect_client (void)
{
  void *handle = open_export ("");

  assert (handle);
  return filter->prepare (&plugin.next, handle, 0) == 0 ? handle : NULL;
}

static int
read_range (void *handle, void *buf, uint64_t len, uint64_t offset)
{
  int err = 0, r = filter->pread (&plugin.next, handle, buf, len, offset, 0,
                                  &err);

  assert (r == 0 || err > 0);
  return r;
}

/* Can the filter serve BLOCK with the right content? */
static bool
is_served (uint64_t block)
{
  bool zero = is_zero (truth + block * BLOCK, size_of (block)), have = zero;
  unsigned i;

  if (zero && !read_zeros)
    return true;
  for (i = 0; i < nr_sources; i++)
    have |= in_source[i][block];
  {
    SCOPED_LOCK (&lock);

    return is_good_locked (block) || (have && nr_sources > 0);
  }
}

/* Returns what is wrong with a read, or NULL. */
static const char *
check_read_at (void *handle, uint64_t len, uint64_t offset)
{
  unsigned char *buf = malloc (len);
  bool served = true;
  const char *wrong = NULL;
  uint64_t block;
  int r;

  for (block = offset / BLOCK; block * BLOCK < offset + len; block++)
    served &= is_served (block);
  r = read_range (handle, buf, len, offset);
  if (r == -1 && served)
    wrong = "a request failed";
  if (r == 0 && !served)
    wrong = "a request did not fail";
  if (r == 0 && memcmp (buf, truth + offset, len) != 0)
    wrong = "wrong content";
  free (buf);
  return wrong;
}

static void *
read_at_random (void *opaque)
{
  unsigned *s = opaque, i;
  void *handle = connect_client ();
  const char *wrong = NULL;

  for (i = 0; i < 20 && !wrong; i++) {
    uint64_t len = 1 + any_of (s, any_of (s, 3) ? MIN (3 * BLOCK, size) : size);

    wrong = check_read_at (handle, len, any_of (s, size - len + 1));
  }
  for (i = 0; i < blocks && !wrong; i++)
    wrong = check_read_at (handle, size_of (i), i * BLOCK);
  filter->finalize (&plugin.next, handle);
  filter->close (handle);
  return (void *) wrong;
}

static void
run_clients (unsigned count)
{
  pthread_t threads[THREADS];
  unsigned seeds[THREADS], i;

  for (i = 0; i < count; i++) {
    seeds[i] = seed + i;
    assert_int_equal (pthread_create (&threads[i], NULL, read_at_random,
                                      &seeds[i]), 0);
  }
  for (i = 0; i < count; i++) {
    void *wrong;

    pthread_join (threads[i], &wrong);
    if (wrong)
      fail_msg ("%s: %s", (const char *) wrong, last_error);
  }
}

static struct tally *
the_tally (void)
{
  return &exports_first_locked ()->disk->tally;
}

static enum block_state
state_of (uint64_t block)
{
  enum block_state state = BLOCK_NOT_READ;

  tally_get_run (the_tally (), block, &state);
  return state;
}

/* ---- Tests ---- */

static bool
is_skipped (uint64_t block)
{
  return !read_zeros && is_zero (truth + block * BLOCK, size_of (block));
}

/* Returns how many blocks the filter may write. */
static uint64_t
get_limit (void)
{
  uint64_t data = 0, i;

  for (i = 0; i < blocks; i++)
    data += !is_zero (truth + i * BLOCK, size_of (i));
  return strcmp (limit, "0%") == 0 ? 0 : MAX (data * atoi (limit) / 100, 1u);
}

/* How many writes were allowed when a block was repaired depends on how many
 * good blocks had been read by then, so only a range of REPAIRED can be
 * checked, except with a limit of 100%.
 */
static void
check_limit (uint64_t repaired, uint64_t repairable)
{
  uint64_t most = MIN (repairable, get_limit ());

  assert_true (repaired <= most);
  if (strcmp (limit, "100%") == 0)
    assert_int_equal (repaired, most);
  else
    assert_true (repaired >= MIN (most, 8u));
}

/* Check the states after all blocks were read.  Before that, the blocks in
 * WAS_GOOD were good on the plugin, and those in WAS_SERVED could be served.
 */
static void
check_states (const bool *was_good, const bool *was_served)
{
  uint64_t i, repaired = 0, repairable = 0;

  for (i = 0; i < blocks; i++) {
    if (is_skipped (i))
      assert_int_equal (writes[i], 0);
    else if (was_good[i] || writes[i] > 0)
      assert_int_equal (state_of (i), BLOCK_GOOD);
    else if (was_served[i])
      assert_int_equal (state_of (i), BLOCK_IN_FLIGHT);
    else
      assert_true (state_of (i) == BLOCK_BAD ||
                   state_of (i) == BLOCK_UNREADABLE);
    if (is_skipped (i))
      continue;
    assert_true (writes[i] <= (is_writing && !was_good[i] && was_served[i]));
    assert_int_equal (is_good_locked (i), was_good[i] || writes[i] > 0);
    repairable += is_writing && !was_good[i] && was_served[i];
    repaired += writes[i] > 0;
  }
  check_limit (repaired, repairable);
  assert_int_equal (the_tally ()->repaired, repaired);
  assert_int_equal (the_tally ()->writes, repaired);
  if (repaired < repairable)
    assert_true (the_tally ()->limit_reached);
  assert_int_equal (unflushed, 0);
}

static void
run_round (unsigned clients)
{
  static const char *const limits[] = { "100%", "100%", "30%", "1%", "0%" };
  bool was_good[MAX_BLOCKS], was_served[MAX_BLOCKS];
  uint64_t i;

  make_truth (1 + any (MAX_BLOCKS * BLOCK - 1), &sum);
  damage_plugin (1 + any (4));
  nr_sources = any (5) ? 1 + any (SOURCES) : 0;
  for (i = 0; i < nr_sources; i++)
    make_source (i);
  read_zeros = any (2);
  is_writing = nr_sources > 0 && any (2);
  limit = limits[any (sizeof limits / sizeof limits[0])];
  if (any (3) == 0)
    plugin.max = plugin.min = 1024;
  if (any (4) == 0) {
    can_flush = 0;
    can_fua = any (2) ? NBDKIT_FUA_NATIVE : NBDKIT_FUA_NONE;
  }
  for (i = 0; i < blocks; i++) {
    was_good[i] = is_good_locked (i);
    was_served[i] = is_served (i);
  }
  start_server ();
  run_clients (clients);
  if (can_flush == 0 && can_fua == NBDKIT_FUA_NONE)
    unflushed = 0;
  check_states (was_good, was_served);
  stop_server ();
}

static void
test_random (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < rounds; i++)
    run_round (1);
}

static void
test_threads (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < rounds / 3; i++)
    run_round (THREADS);
}

/* Make a disk whose block 1 is bad, and a source in which it is good. */
static void
make_bad_disk (void)
{
  unsigned i;

  make_truth (3 * BLOCK, &sum);
  for (i = 0; i < 3; i++)
    truth[i * BLOCK] = i + 1;
  free (sum);
  sum = write_manifest ();
  memcpy (plugin.bytes, truth, size);
  plugin.bytes[BLOCK] = 55;
  nr_sources = 1;
  write_file (source_paths[0], truth, size);
  memset (in_source, true, sizeof in_source);
  read_zeros = false;
  is_writing = true;
  limit = "100%";
}

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
    start_server ();
    handle = connect_client ();
    assert_non_null (handle);
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
    filter->close (handle);
    stop_server ();
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
  start_server ();
  assert_int_equal (exports_first_locked ()->disk->data_blocks, 3);
  handle = connect_client ();
  assert_non_null (handle);
  for (i = 0; i < 3; i++)
    assert_null (check_read_at (handle, BLOCK, BLOCK));
  assert_int_equal (writes[1], 1);
  assert_null (check_read_at (handle, BLOCK, 2 * BLOCK));
  assert_int_equal (writes[2], 0);
  assert_int_equal (state_of (2), BLOCK_IN_FLIGHT);
  assert_true (the_tally ()->limit_reached);
  /* The failed write, the states of two blocks, and the limit. */
  assert_int_equal (errors, 4);
  filter->close (handle);
  stop_server ();

  /* A limit above 0% allows at least one write. */
  make_bad_disk ();
  plugin.bytes[2 * BLOCK] = 55;
  limit = "0.000001%";
  start_server ();
  handle = connect_client ();
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (writes[1] + writes[2], 1);
  filter->close (handle);
  stop_server ();
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

    make_truth (MAX_BLOCKS * BLOCK, &sum);
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
    start_server ();
    handle = connect_client ();
    for (k = 0; k < 3; k++)
      assert_null (check_read_at (handle, size, 0));
    for (k = 0; k < MAX_BLOCKS; k++)
      total += writes[k];
    assert_int_equal (total, i == 0 ? 8 : data);
    assert_int_equal (the_tally ()->limit_reached, i == 0);
    filter->close (handle);
    stop_server ();
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
    start_server ();
    handle = connect_client ();
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    assert_int_equal (writes[1], i < 2);
    assert_int_equal (state_of (1), i < 2 ? BLOCK_GOOD : BLOCK_IN_FLIGHT);
    filter->close (handle);
    stop_server ();
  }
}

/* A plugin that does not answer costs a few timeouts for each request, however
 * many blocks it reads.
 */
static void
test_no_answer (void **state)
{
  const unsigned most = 7 + 3 + 4; /* 40, 20, 10, 5, 3, 2 and 1 blocks, three
                                    * more, and each of these again */
  unsigned k;
  void *handle;

  (void) state;
  make_truth (MAX_BLOCKS * BLOCK, &sum);
  for (k = 0; k < MAX_BLOCKS; k++)
    truth[k * BLOCK] = 1 + k;
  free (sum);
  sum = write_manifest ();
  memcpy (plugin.bytes, truth, size);
  memset (unreadable, true, sizeof unreadable);
  write_file (source_paths[0], truth, 39 * BLOCK);
  memset (in_source, true, sizeof in_source);
  in_source[0][39] = false;
  nr_sources = 1;
  is_writing = read_zeros = false;
  start_server ();
  handle = connect_client ();
  assert_null (check_read_at (handle, 39 * BLOCK, 0));
  assert_in_range (reads, 1, most);
  for (k = 0; k < 40; k++)
    assert_int_equal (state_of (k), k < 4 ? BLOCK_IN_FLIGHT : BLOCK_NOT_READ);
  reads = 0;
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (state_of (39), BLOCK_UNREADABLE);
  assert_in_range (reads, 1, most + 2);
  {
    SCOPED_LOCK (&lock);

    unreadable[39] = false;
  }
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (state_of (39), BLOCK_GOOD);
  filter->close (handle);
  stop_server ();
}

/* If the sources were not read because the client is gone or nbdkit is ending,
 * the disk is not stopped for other clients.
 */
static void
test_ending (void **state)
{
  unsigned char buf[BLOCK];
  void *handle;

  (void) state;
  make_bad_disk ();
  is_writing = false;
  start_server ();
  verify_params.fail = FAIL_STOP;
  handle = connect_client ();
  is_ending = true;
  assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), -1);
  is_ending = false;
  assert_null (check_read_at (handle, BLOCK, 0));
  assert_null (check_read_at (handle, BLOCK, BLOCK));
  filter->close (handle);
  stop_server ();
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
    start_server ();
    handle = connect_client ();
    is_stale = true;
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    is_stale = false;
    assert_int_equal (writes[1], 1);
    assert_int_equal (state_of (1), BLOCK_IN_FLIGHT);
    assert_int_equal (the_tally ()->repaired, 0);
    filter->close (handle);
    stop_server ();
  }
}

/* A read of a part of the bad block puts the repaired block in the cache.  The
 * next read of a part of it reads neither the plugin nor the source.
 */
static void
test_cached (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  is_writing = false;
  start_server ();
  handle = connect_client ();
  assert_null (check_read_at (handle, 100, BLOCK));
  assert_int_equal (truncate (source_paths[0], 0), 0);
  assert_null (check_read_at (handle, 100, BLOCK + 50));
  in_source[0][1] = false;
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (state_of (1), BLOCK_BAD);
  filter->close (handle);
  stop_server ();
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
  start_server ();
  handle = connect_client ();
  assert_null (check_read_at (handle, BLOCK, BLOCK));
  assert_int_equal (good_after, 0);
  assert_int_equal (writes[1], 0);
  assert_int_equal (state_of (1), BLOCK_GOOD);
  assert_int_equal (the_tally ()->repaired, 0);
  filter->close (handle);
  stop_server ();
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
  filter->close (handle);
  stop_server ();

  /* Without the parameter, all of this is allowed. */
  make_bad_disk ();
  is_writing = false;
  can_write = 0;
  start_server ();
  assert_int_equal (filter->preconnect (preconnected, NULL, 1), 0);
  handle = open_export ("x");
  assert_int_equal (filter->prepare (&plugin.next, handle, 1), 0);
  filter->close (handle);
  stop_server ();
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
  free (sum);
  sum = write_manifest ();
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
  filter->close (handle);
  stop_server ();
}

/* With "warn", a bad block that no source can repair is served as it was read.
 */
static void
test_warn (void **state)
{
  unsigned char buf[BLOCK];
  void *handle;

  (void) state;
  make_bad_disk ();
  is_writing = false;
  write_file (source_paths[0], truth, BLOCK + 1);
  start_server ();
  verify_params.fail = FAIL_WARN;
  handle = connect_client ();
  assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), 0);
  assert_memory_equal (buf, plugin.bytes + BLOCK, BLOCK);
  assert_int_equal (state_of (1), BLOCK_BAD);
  filter->close (handle);
  stop_server ();
}

/* With "stop", a bad block that a source can repair does not stop the disk. */
static void
test_stop (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  is_writing = false;
  start_server ();
  verify_params.fail = FAIL_STOP;
  handle = connect_client ();
  assert_null (check_read_at (handle, size, 0));
  assert_null (check_read_at (handle, size, 0));
  filter->close (handle);
  stop_server ();
}

static int
set_up (void **state)
{
  unsigned i;

  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (manifest, "%s/manifest", directory);
  for (i = 0; i < SOURCES; i++)
    sprintf (source_paths[i], "%s/source%u", directory, i);
  return 0;
}

static int
tear_down (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < SOURCES; i++)
    unlink (source_paths[i]);
  unlink (manifest);
  return rmdir (directory);
}

int
main (void)
{
  const char *given = getenv ("BLKHASH_ROUNDS"),
    *slow = getenv ("BLKHASH_SLOW");
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_threads),
    cmocka_unit_test (test_failing_writes),
    cmocka_unit_test (test_limit),
    cmocka_unit_test (test_wrong_disk),
    cmocka_unit_test (test_unreadable),
    cmocka_unit_test (test_connections),
    cmocka_unit_test (test_no_answer),
    cmocka_unit_test (test_ending),
    cmocka_unit_test (test_empty_reads),
    cmocka_unit_test (test_cached),
    cmocka_unit_test (test_good_meanwhile),
    cmocka_unit_test (test_refused),
    cmocka_unit_test (test_short_last_block),
    cmocka_unit_test (test_warn),
    cmocka_unit_test (test_stop),
  };

  seed = get_seed ();
  if (slow && *slow && strcmp (slow, "0") != 0)
    rounds = 5000;
  if (given)
    rounds = strtoul (given, NULL, 10);
  return cmocka_run_group_tests (tests, set_up, tear_down);
}
