/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: repair of bad blocks from files, compared with a model.
 *
 * The plugin's disk and up to three sources are damaged at random.  A source
 * can also be shorter, longer, or a disk of zeros.  A request must succeed,
 * with the right content, if each of its blocks is good on the plugin or in a
 * source, and must fail otherwise.  The plugin has no function that writes.
 * The test prints its seed.  BLKHASH_SEED and BLKHASH_ROUNDS can set the seed
 * and the number of rounds.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/util.h"
#include "../lib/common/zero.h"
#include "verify/test-verify-nbdkit.h"
#include "verify/verify-disk.h"
#include "verify/verify-export.h"
#include "verify/verify-params.h"

#define BLOCK 4096              /* bytes */
#define MAX_BLOCKS 40
#define SOURCES 3
#define THREADS 4

static unsigned rounds = 150;

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char manifest[50];
static char source_paths[SOURCES][50];
static unsigned seed;

static uint64_t
any_of (unsigned *s, uint64_t n)
{
  return rand_r (s) % n;
}

static uint64_t
any (uint64_t n)
{
  return any_of (&seed, n);
}

/* ---- The plugin ---- */

static struct plugin plugin;    /* has the bytes of the damaged disk */
static unsigned char truth[MAX_BLOCKS * BLOCK]; /* the right content */
static uint64_t size, blocks;   /* bytes and blocks that the manifest covers */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static bool unreadable[MAX_BLOCKS];
static unsigned good_after;     /* the disk becomes good at the read with this
                                 * number, counted from now; 0: never */
static unsigned reads;          /* number of reads */
static int read_error;          /* errno with which unreadable blocks fail */

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
read_disk (void *buf, uint32_t len, uint64_t offset, int *err)
{
  uint64_t block;
  SCOPED_LOCK (&lock);

  reads++;
  if (good_after > 0 && --good_after == 0)
    memcpy (plugin.bytes, truth, size);
  for (block = offset / BLOCK; block * BLOCK < MIN (offset + len, size);
       block++)
    if (unreadable[block]) {
      *err = read_error;
      return -1;
    }
  memcpy (buf, plugin.bytes + offset, len);
  return 0;
}

static void (*after_read) (void); /* called once, when the next read has its
                                   * content, and before it returns */

static int
plugin_pread (nbdkit_next *next, void *buf, uint32_t len, uint64_t offset,
              uint32_t flags, int *err)
{
  int r = read_disk (buf, len, offset, err);
  void (*function) (void) = after_read;

  (void) next;
  assert (flags == 0 && len > 0 && offset + len <= plugin.size);
  if (function) {
    after_read = NULL;
    function ();
  }
  return r;
}

/* ---- The disks ---- */

static char *sum;               /* of the manifest */
static bool in_source[SOURCES][MAX_BLOCKS]; /* it has the right block */

static void
write_file (const char *path, const void *bytes, size_t len)
{
  FILE *f = fopen (path, "w");

  assert_non_null (f);
  assert_int_equal (fwrite (bytes, 1, len, f), len);
  fclose (f);
}

static void
write_manifest (void)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");

  blkhash_opts_set_block_size (opts, BLOCK);
  free (sum);
  sum = manifest_of (opts, truth, size, manifest);
  blkhash_opts_free (opts);
}

/* Make a good disk of BYTES bytes, and its manifest.  About one of six blocks
 * is zero.
 */
static void
make_truth (uint64_t bytes)
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
  write_manifest ();
  memset (unreadable, 0, sizeof unreadable);
  good_after = 0;
  read_error = ENODATA;
  reads = 0;
}

/* ---- The server ---- */

static bool read_zeros;
static unsigned nr_sources;     /* how many of SOURCES are used */

#define SOURCE(i) \
  nr_sources > i ? "blkhash-verify-repair" : NULL, source_paths[i]

static void
start_server (void)
{
  assert_int_equal (start ("blkhash-verify-manifest", manifest,
                           "blkhash-verify-sum", sum, "blkhash-verify-zero",
                           read_zeros ? "read" : "skip", SOURCE (0),
                           SOURCE (1), SOURCE (2), NULL), 0);
}

static void
stop_server (void)
{
  unload ();
  plugin_destroy (&plugin);
  free (sum);
  sum = NULL;
}

/* Returns NULL if the filter refuses the connection. */
static void *
connect_client (void)
{
  void *handle = open_export ("");

  assert (handle);
  return filter->prepare (&plugin.next, handle, 0) == 0 ? handle : NULL;
}

static void *
start_client (void)
{
  void *handle;

  start_server ();
  handle = connect_client ();
  assert_non_null (handle);
  return handle;
}

static void
end_client (void *handle)
{
  filter->close (handle);
  stop_server ();
}

static int
read_range (void *handle, void *buf, uint64_t len, uint64_t offset)
{
  int err = 0, r = filter->pread (&plugin.next, handle, buf, len, offset, 0,
                                  &err);

  assert (r == 0 || err > 0);
  return r;
}

/* Returns true if the filter must serve BLOCK. */
static bool
is_served (uint64_t block)
{
  bool zero = is_zero (truth + block * BLOCK, size_of (block)), have;
  unsigned i;
  SCOPED_LOCK (&lock);

  have = is_good_locked (block) || (zero && (!read_zeros || nr_sources > 0));
  for (i = 0; i < nr_sources; i++)
    have |= in_source[i][block];
  return have;
}

/* Read LEN bytes at OFFSET.  Returns what is wrong with the result, or NULL. */
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

static struct tally *
the_tally (void)
{
  return &verify_exports_first_locked ()->disk->tally;
}

static enum block_state
state_of (uint64_t block)
{
  enum block_state state = BLOCK_MISSING;

  tally_get_run (the_tally (), block, &state);
  return state;
}

/* Make a disk of three blocks of data, of which block 1 is bad, and a source in
 * which all three are good.
 */
static void
make_bad_disk (void)
{
  unsigned i;

  make_truth (3 * BLOCK);
  for (i = 0; i < 3; i++)
    truth[i * BLOCK] = i + 1;
  write_manifest ();
  memcpy (plugin.bytes, truth, size);
  plugin.bytes[BLOCK] = 55;
  nr_sources = 1;
  write_file (source_paths[0], truth, size);
  memset (in_source, true, sizeof in_source);
  read_zeros = false;
}

/* ---- Random disks ---- */

/* Change a bit of about one in N blocks; some of these also become unreadable.
 */
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

static bool
is_skipped (uint64_t block)
{
  return !read_zeros && is_zero (truth + block * BLOCK, size_of (block));
}

/* Check the states after all blocks were read. */
static void
check_states (void)
{
  uint64_t i;

  for (i = 0; i < blocks; i++) {
    enum block_state state = state_of (i);

    if (is_skipped (i))
      continue;
    if (is_good_locked (i))
      assert_int_equal (state, BLOCK_OK);
    else if (is_served (i))
      assert_int_equal (state, unreadable[i] ? BLOCK_UNREADABLE_REPAIRED
                                             : BLOCK_REPAIRED);
    else
      assert_int_equal (state,
                        unreadable[i] ? BLOCK_UNREADABLE : BLOCK_DIFFERS);
  }
}

static void
run_round (unsigned clients)
{
  uint64_t i;

  make_truth (1 + any (MAX_BLOCKS * BLOCK - 1));
  damage_plugin (1 + any (4));
  nr_sources = any (5) ? 1 + any (SOURCES) : 0;
  for (i = 0; i < nr_sources; i++)
    make_source (i);
  read_zeros = any (2);
  if (any (3) == 0)
    plugin.max = plugin.min = 1024;
  start_server ();
  run_clients (clients);
  check_states ();
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

/* ---- Repair in flight ---- */

/* A bad block is read again up to three times until it is good.  If it is still
 * bad then, it is read from the source.
 */
static void
test_retry (void **state)
{
  unsigned i;

  (void) state;
  for (i = 1; i <= 5; i++) {
    void *handle;

    make_bad_disk ();
    good_after = i;
    handle = start_client ();
    verify_params.retry = 3;
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    assert_int_equal (reads, MIN (i, 4u));
    assert_int_equal (state_of (1), i <= 4 ? BLOCK_OK : BLOCK_REPAIRED);
    assert_int_equal (the_tally ()->transient, i > 1 && i <= 4);
    end_client (handle);
  }
}

/* If the plugin does not answer, each request costs only a few timeouts,
 * however many blocks the request reads.
 */
static void
test_no_answer (void **state)
{
  /* At most, for 39 or 40 blocks: seven reads, of all, 20, 10, 5, 3, 2 and 1
   * blocks; reads of three more single blocks; and a retry of each of the four
   * single blocks.
   */
  const unsigned most = 7 + 3 + 4;
  unsigned k;
  void *handle;

  (void) state;
  make_truth (MAX_BLOCKS * BLOCK);
  for (k = 0; k < MAX_BLOCKS; k++)
    truth[k * BLOCK] = 1 + k;
  write_manifest ();
  memcpy (plugin.bytes, truth, size);
  memset (unreadable, true, sizeof unreadable);
  write_file (source_paths[0], truth, 39 * BLOCK);
  memset (in_source, true, sizeof in_source);
  in_source[0][39] = false;
  nr_sources = 1;
  read_zeros = false;
  handle = start_client ();
  assert_null (check_read_at (handle, 39 * BLOCK, 0));
  assert_in_range (reads, 1, most);
  for (k = 0; k < 40; k++)
    assert_int_equal (state_of (k), k < 4 ? BLOCK_UNREADABLE_REPAIRED
                      : BLOCK_MISSING);
  reads = 0;
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (state_of (39), BLOCK_UNREADABLE);
  assert_in_range (reads, 1, most + 2);
  {
    SCOPED_LOCK (&lock);

    unreadable[39] = false;
  }
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (state_of (39), BLOCK_OK);
  end_client (handle);
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
  handle = start_client ();
  verify_params.fail = FAIL_STOP;
  is_ending = true;
  assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), -1);
  is_ending = false;
  assert_null (check_read_at (handle, BLOCK, 0));
  assert_null (check_read_at (handle, BLOCK, BLOCK));
  end_client (handle);
}

/* Whether or not there is a source, the disk is also not stopped if the plugin,
 * or a filter below, fails to read because the client is gone or nbdkit is
 * ending.  If the read fails for another reason, the disk is stopped.
 */
static void
test_ending_plugin (void **state)
{
  unsigned char buf[BLOCK];
  unsigned i;

  (void) state;
  for (i = 0; i < 4; i++) {
    bool ends = i < 2;
    void *handle;

    make_bad_disk ();
    unreadable[1] = true;
    read_error = ESHUTDOWN;
    nr_sources = i % 2;
    in_source[0][1] = false;
    write_file (source_paths[0], truth, BLOCK);
    handle = start_client ();
    verify_params.fail = FAIL_STOP;
    is_ending = ends;
    assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), -1);
    is_ending = false;
    assert_int_equal (read_range (handle, buf, BLOCK, 0), ends ? 0 : -1);
    end_client (handle);
  }
}

/* A block that must be zero is repaired by any source. */
static void
test_zeros (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  memset (truth + BLOCK, 0, BLOCK);
  write_manifest ();
  write_file (source_paths[0], truth, 0);
  memset (in_source, 0, sizeof in_source);
  read_zeros = true;
  handle = start_client ();
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (state_of (1), BLOCK_REPAIRED);
  end_client (handle);
}

/* A source is reported once if the first 16 blocks (WRONG_BLOCKS) that are read
 * from it are all wrong, or if it is too small.  It is not reported if only
 * some of these blocks are wrong.
 */
static void
test_wrong_source (void **state)
{
  unsigned k, i;

  (void) state;
  for (i = 0; i < 4; i++) {
    unsigned before;
    void *handle;

    make_truth (20 * BLOCK);
    for (k = 0; k < 20; k++)
      truth[k * BLOCK] = 1 + k;
    write_manifest ();
    memcpy (plugin.bytes, truth, size);
    for (k = 0; k < 20; k++)
      plugin.bytes[k * BLOCK] = 100;
    memset (in_source, 0, sizeof in_source);
    in_source[0][3] = i == 1;
    write_file (source_paths[0], plugin.bytes, size);
    if (i == 1) {
      plugin.bytes[3 * BLOCK] = 4;
      write_file (source_paths[0], plugin.bytes, size);
      plugin.bytes[3 * BLOCK] = 100;
    }
    if (i >= 2)
      write_file (source_paths[0], truth, i == 2 ? BLOCK - 1 : 0);
    nr_sources = 1;
    read_zeros = false;
    handle = start_client ();
    verify_params.retry = 0;
    for (k = 0; k < 15; k++)
      check_read_at (handle, BLOCK, k * BLOCK);
    before = errors;
    assert_int_equal (before, i < 2 ? 15 : 16);
    check_read_at (handle, BLOCK, 15 * BLOCK);
    assert_int_equal (errors, before + (i == 0 ? 2 : 1));
    check_read_at (handle, BLOCK, 16 * BLOCK);
    assert_int_equal (errors, before + (i == 0 ? 3 : 2));
    end_client (handle);
  }
}

/* A read of a part of the bad block puts the repaired block in the cache.  The
 * next read of a part of this block finds it there, although the source is
 * empty by then.
 */
static void
test_cached (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  handle = start_client ();
  assert_null (check_read_at (handle, 100, BLOCK));
  assert_int_equal (truncate (source_paths[0], 0), 0);
  assert_null (check_read_at (handle, 100, BLOCK + 50));
  in_source[0][1] = false;
  assert_null (check_read_at (handle, size, 0));
  assert_int_equal (state_of (1), BLOCK_DIFFERS);
  end_client (handle);
}

/* With FAIL_WARN, a bad block that no source can repair is served as it was
 * read.
 */
static void
test_warn (void **state)
{
  unsigned char buf[BLOCK];
  void *handle;

  (void) state;
  make_bad_disk ();
  write_file (source_paths[0], truth, BLOCK + 1);
  handle = start_client ();
  verify_params.fail = FAIL_WARN;
  assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), 0);
  assert_memory_equal (buf, plugin.bytes + BLOCK, BLOCK);
  assert_int_equal (state_of (1), BLOCK_DIFFERS);
  end_client (handle);
}

/* With FAIL_WARN, a bad block is not served if a source may have it, but was
 * not read because the client has closed its side of the connection.
 */
static void
test_warn_ending (void **state)
{
  unsigned char buf[BLOCK];
  void *handle;

  (void) state;
  make_bad_disk ();
  handle = start_client ();
  verify_params.fail = FAIL_WARN;
  is_ending = true;
  assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), -1);
  is_ending = false;
  assert_int_equal (state_of (1), BLOCK_DIFFERS);
  assert_null (check_read_at (handle, size, 0));
  end_client (handle);
}

/* With FAIL_STOP, a bad block that a source can repair does not stop the disk.
 */
static void
test_stop (void **state)
{
  void *handle;

  (void) state;
  make_bad_disk ();
  handle = start_client ();
  verify_params.fail = FAIL_STOP;
  assert_null (check_read_at (handle, size, 0));
  assert_null (check_read_at (handle, size, 0));
  end_client (handle);
}

/* ---- The files ---- */

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

/* The last test, because cmocka ignores an error of the tear-down.  rmdir fails
 * if the filter left another file.
 */
static void
test_nothing_left (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < SOURCES; i++)
    unlink (source_paths[i]);
  unlink (manifest);
  assert_int_equal (rmdir (directory), 0);
}

/* ---- Reads that overlap ---- */

static void *other;             /* a second client */

static void
damage_and_read (void)
{
  unsigned char buf[BLOCK];

  plugin.bytes[0] ^= 1;
  plugin.bytes[BLOCK] ^= 1;
  assert_int_equal (read_range (other, buf, BLOCK, BLOCK), -1);
  assert_int_equal (state_of (1), BLOCK_DIFFERS);
}

/* A read gets the right content.  Before it ends, the disk is damaged, and
 * another read finds block 1 bad.  The first read is older, so it does not make
 * block 1 good; nor block 0, whose state begins anew because block 1 was good
 * before.
 */
static void
test_overtaken (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < 2; i++) {
    void *handle;

    make_bad_disk ();
    memcpy (plugin.bytes, truth, size);
    nr_sources = 0;
    handle = start_client ();
    other = connect_client ();
    verify_params.retry = 0;
    if (i == 0)
      assert_null (check_read_at (handle, BLOCK, BLOCK));
    after_read = damage_and_read;
    assert_null (check_read_at (handle, BLOCK, i * BLOCK));
    assert_int_equal (state_of (0), BLOCK_MISSING);
    assert_int_equal (state_of (1), BLOCK_DIFFERS);
    memcpy (plugin.bytes, truth, size);
    assert_null (check_read_at (handle, BLOCK, BLOCK));
    assert_null (check_read_at (handle, BLOCK, 0));
    assert_int_equal (state_of (0), BLOCK_OK);
    assert_int_equal (state_of (1), BLOCK_OK);
    filter->close (other);
    end_client (handle);
  }
}

/* Make a disk whose block 1 is bad, without sources.  Returns a client that has
 * found the bad block.
 */
static void *
find_bad_block (unsigned retries)
{
  unsigned char buf[BLOCK];
  void *handle;

  make_bad_disk ();
  memcpy (plugin.bytes, truth, size);
  plugin.bytes[BLOCK] ^= 1;
  nr_sources = 0;
  handle = start_client ();
  verify_params.retry = retries;
  assert_int_equal (read_range (handle, buf, BLOCK, BLOCK), -1);
  return handle;
}

static void
swap_damage (void)
{
  memcpy (plugin.bytes, truth, size);
  plugin.bytes[2 * BLOCK] ^= 1;
}

/* Block 1 is good when it is read again, after block 2 was: what was read of
 * block 2 is older than the change, and does not make it good.
 */
static void
test_retry_is_newer (void **state)
{
  unsigned char buf[2 * BLOCK];
  void *handle = find_bad_block (1);

  (void) state;
  after_read = swap_damage;
  assert_int_equal (read_range (handle, buf, 2 * BLOCK, BLOCK), 0);
  assert_int_equal (state_of (1), BLOCK_OK);
  assert_int_equal (state_of (2), BLOCK_MISSING);
  end_client (handle);
}

static void
mend_and_read (void)
{
  memcpy (plugin.bytes, truth, size);
  assert_null (check_read_at (other, BLOCK, BLOCK));
}

/* A read of a part of block 0 that is overtaken does not set its state, and
 * leaves nothing in the cache: the next one does.
 */
static void
test_overtaken_part (void **state)
{
  void *handle = find_bad_block (0);

  (void) state;
  other = connect_client ();
  after_read = mend_and_read;
  assert_null (check_read_at (handle, 100, 0));
  assert_int_equal (state_of (0), BLOCK_MISSING);
  assert_null (check_read_at (handle, 100, 0));
  assert_int_equal (state_of (0), BLOCK_OK);
  filter->close (other);
  end_client (handle);
}

int
main (void)
{
  const char *given = getenv ("BLKHASH_ROUNDS"),
    *slow = getenv ("BLKHASH_SLOW");
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_threads),
    cmocka_unit_test (test_retry),
    cmocka_unit_test (test_no_answer),
    cmocka_unit_test (test_ending),
    cmocka_unit_test (test_ending_plugin),
    cmocka_unit_test (test_zeros),
    cmocka_unit_test (test_wrong_source),
    cmocka_unit_test (test_cached),
    cmocka_unit_test (test_warn),
    cmocka_unit_test (test_warn_ending),
    cmocka_unit_test (test_stop),
    cmocka_unit_test (test_overtaken),
    cmocka_unit_test (test_retry_is_newer),
    cmocka_unit_test (test_overtaken_part),
    cmocka_unit_test (test_nothing_left),
  };

  seed = get_seed ();
  if (slow && *slow && strcmp (slow, "0") != 0)
    rounds = 5000;
  if (given)
    rounds = strtoul (given, NULL, 10);
  return cmocka_run_group_tests (tests, set_up, NULL);
}
