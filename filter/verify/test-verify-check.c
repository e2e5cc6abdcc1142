/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: reads through the verify filter, compared with a model.
 *
 * Random ranges of a disk with faults are read.  Bits flip, ranges are zero or
 * have other bytes, or reads fail; each fault strikes always or a few times.  A
 * request returns the right content or fails, as the model predicts; with
 * FAIL_WARN it can also return bad content.  Wrong content is never cached.
 * The test prints its seed.  BLKHASH_SEED and BLKHASH_ROUNDS can set the seed
 * and the number of rounds.
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
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/util.h"
#include "../lib/common/zero.h"
#include "verify/test-verify-nbdkit.h"
#include "verify/verify-check.h"
#include "verify/verify-disk.h"
#include "verify/verify-params.h"
#include "verify/verify-repair.h"

#define MiB (UINT64_C (1024) * 1024)
#define THREADS 3

static char path[] = "/tmp/blkhash-test-XXXXXX";
static unsigned seed, rounds = 40;

static uint64_t
any_of (unsigned *s, uint64_t limit) /* less than LIMIT */
{
  uint64_t high = rand_r (s), low = rand_r (s);

  return (high << 31 | low) % limit;
}

static uint64_t
any (uint64_t limit)
{
  return any_of (&seed, limit);
}

/* ---- The model ---- */

enum outcome { MUST_PASS, MAY_FAIL, MUST_FAIL };

struct model {
  struct plugin plugin;
  struct verify_disk *disk;
  struct plugin_disk plugin_disk;
  uint64_t size;                /* of the disk; the plugin's can be larger */
  uint32_t block_size;
  struct {
    enum outcome outcome;       /* how a read of the block ends */
    enum outcome reading;       /* the same if bad content is accepted, as by
                                 * FAIL_WARN */
  } *blocks;
};

/* How a read of a range with FAULT ends. */
static enum outcome
fault_outcome (const struct fault *fault)
{
  if (fault->times == -1)
    return MUST_FAIL;
  return (unsigned) fault->times <= verify_params.retry ? MUST_PASS : MAY_FAIL;
}

/* Returns true if FAULT changes the LEN bytes of the block at START. */
static bool
changes (const struct model *m, const struct fault *fault, uint64_t start,
         size_t len)
{
  unsigned char *bytes = malloc (len);
  bool changed;

  memcpy (bytes, m->plugin.bytes + start, len);
  fault_apply (&m->plugin, fault, bytes, len, start);
  changed = memcmp (bytes, m->plugin.bytes + start, len) != 0;
  free (bytes);
  return changed;
}

/* Returns how a read of BLOCK ends.  Sets *READING to how it ends if bad
 * content is accepted.  Two faults in the same block can cancel each other.  If
 * the block is read in pieces, and a piece cannot be read, later pieces are
 * read only in a retry.  So their transient faults strike later, and there can
 * be too few retries.
 */
static enum outcome
block_outcome (const struct model *m, uint64_t block, enum outcome *reading)
{
  uint64_t start = block * m->block_size, min = MAX (m->plugin.min, 1u);
  uint64_t len = MIN (m->block_size, m->size - start), i;
  uint64_t wide_start = ROUND_DOWN (start, min);
  uint64_t wide_end = ROUND_UP (start + len, min);
  enum outcome changing = MUST_PASS;
  unsigned changers = 0, times = 0;

  *reading = MUST_PASS;
  if (verify_params.zero != ZERO_READ && is_zero (m->plugin.bytes + start, len))
    return MUST_PASS;
  for (i = 0; i < m->plugin.nr_faults; i++) {
    const struct fault *fault = &m->plugin.faults[i];
    bool fails = fault->kind == FAULT_FAIL;

    if (fault->end <= (fails ? wide_start : start) ||
        (fails ? wide_end : start + len) <= fault->start)
      continue;
    times += MAX (fault->times, 0);
    if (fails)
      *reading = MAX (*reading, fault_outcome (fault));
    else if (++changers && changes (m, fault, start, len))
      changing = MAX (changing, fault_outcome (fault));
  }
  if (changing == MUST_FAIL && changers > 1)
    changing = MAY_FAIL;
  if (times > verify_params.retry && m->plugin.max &&
      m->plugin.max < wide_end - wide_start)
    *reading = MAX (*reading, MAY_FAIL);
  return MAX (*reading, changing);
}

/* Compute the outcome of each block once. */
static void
compute_outcomes (struct model *m)
{
  uint64_t i;

  m->blocks = calloc (m->disk->blocks, sizeof m->blocks[0]);
  for (i = 0; i < m->disk->blocks; i++)
    m->blocks[i].outcome = block_outcome (m, i, &m->blocks[i].reading);
}

/* How a request ends. */
static enum outcome
request_outcome (const struct model *m, uint64_t offset, uint64_t count)
{
  uint64_t block, end = (offset + count - 1) / m->block_size;
  enum outcome result = MUST_PASS;

  for (block = offset / m->block_size; block <= end; block++) {
    result = MAX (result, verify_params.fail == FAIL_WARN
                  ? m->blocks[block].reading : m->blocks[block].outcome);
  }
  return result;
}

/* Returns true if a request for this range may return the content of BUF. */
static bool
may_have (const struct model *m, const unsigned char *buf, uint64_t offset,
          uint64_t count)
{
  uint64_t i;

  if (memcmp (buf, m->plugin.bytes + offset, count) == 0)
    return true;
  if (verify_params.fail != FAIL_WARN)
    return false;
  for (i = 0; i < count; i++)
    if (buf[i] != m->plugin.bytes[offset + i] &&
        m->blocks[(offset + i) / m->block_size].outcome == MUST_PASS)
      return false;
  return true;
}

/* ---- Random models ---- */

static void
fill (struct model *m)
{
  unsigned char *bytes = m->plugin.bytes;
  uint64_t i, n;

  for (i = 0; i < m->plugin.size; i += n) {
    uint64_t kind = any (4);

    n = 1 + any (any (2) ? m->block_size * UINT64_C (4)
                         : m->plugin.size);
    n = MIN (n, m->plugin.size - i);
    if (kind > 1)
      memset (bytes + i, 1 + any (255), n);
    if (kind > 2) {
      uint64_t k, x = any (UINT32_MAX);

      for (k = 0; k < n; k++)
        bytes[i + k] = x = x * 1103515245 + 12345 + (x >> 16);
    }
  }
}

static void
add_fault (struct model *m, bool transient)
{
  static const int errors_of_reads[] = { EIO, ENOSPC, ESHUTDOWN };
  struct fault *fault = &m->plugin.faults[m->plugin.nr_faults++];
  uint64_t size = m->plugin.size, len = 1 + any (any (4) ? 1 : size);

  fault->kind = any (4);
  fault->start = any (size);
  fault->end = MIN (size, fault->start + len);
  fault->other = any (size - (fault->end - fault->start) + 1);
  fault->err = errors_of_reads[any (3)];
  fault->times = transient ? 1 + (int) any (verify_params.retry + 1) : -1;
  fault->left = fault->times;
}

static uint64_t
any_size (uint32_t block_size)
{
  uint64_t most = block_size >= MiB ? 2 : block_size >= 16384 ? 30 : 3000;

  return 1 + any (most * block_size);
}

static void
any_constraints (struct plugin *plugin)
{
  if (any (3) == 0)
    return;
  plugin->min = any (2) ? 1 : 1u << any (17);
  plugin->preferred = MAX (plugin->min, 4096u);
  plugin->max = any (3) == 0 ? UINT32_MAX
    : MAX (1u << (12 + any (13)), plugin->min) / plugin->min * plugin->min;
}

static struct blkhash_opts *
any_opts (uint32_t block_size)
{
  const char *names[100];
  size_t n = blkhash_digests (names, 100);
  struct blkhash_opts *opts;

  do
    opts = blkhash_opts_new (any (2) ? "sha256" : names[any (n)]);
  while (blkhash_opts_get_digest_size (opts) == 0 &&
         (blkhash_opts_free (opts), true));
  blkhash_opts_set_block_size (opts, block_size);
  if (any (3) == 0)
    blkhash_opts_set_streams (opts, 1 + any (64));
  return opts;
}

static void
any_params (void)
{
  static const unsigned retries[] = { 0, 1, 1, 2, 5 };

  verify_params = (struct verify_params) {
    .truncate = any (3) == 0,
    .fail = any (4) == 0 ? FAIL_STOP : any (3) == 0 ? FAIL_WARN : FAIL_ERROR,
    .retry = retries[any (5)],
    .zero = any (3) == 0 ? ZERO_READ : ZERO_SKIP,
  };
}

static struct model *
new_model (uint32_t block_size)
{
  struct model *m = calloc (1, sizeof *m);
  struct blkhash_opts *opts = any_opts (block_size);
  uint64_t larger = verify_params.truncate ? any (3 * (uint64_t) block_size)
                                           : 0;
  unsigned faults = any (4) ? any (MAX_FAULTS) : 0, kind = any (3);
  char *sum;

  m->block_size = block_size;
  m->size = any_size (block_size);
  plugin_init (&m->plugin, m->size + larger);
  any_constraints (&m->plugin);
  fill (m);
  while (faults-- > 0)
    add_fault (m, kind == 2 ? any (2) : kind);
  sum = manifest_of (opts, m->plugin.bytes, m->size, path);
  m->disk = verify_disk_open (open (path, O_RDONLY), path,
                              any (4) ? sum : "none");
  assert_non_null (m->disk);
  assert_int_equal (verify_disk_load (m->disk, any (2) ? DISK_COMPUTE : 0), 0);
  free (sum);
  blkhash_opts_free (opts);
  assert_int_equal (m->disk->size, m->size);
  assert_int_equal (plugin_disk_init (&m->plugin_disk, &m->plugin.next), 0);
  compute_outcomes (m);
  return m;
}

static void
free_model (struct model *m)
{
  verify_disk_free (m->disk);
  plugin_destroy (&m->plugin);
  free (m->blocks);
  free (m);
}

/* ---- Requests ---- */

static void
any_range (const struct model *m, unsigned *s, uint64_t *offset,
           uint64_t *count)
{
  uint64_t most = MIN (m->size, 64 * MiB), block = m->block_size;

  *count = 1 + any_of (s, most);
  switch (any_of (s, 5)) {
  case 0:                       /* the maximum, or nearly */
    *count = most - MIN (any_of (s, 3), most - 1);
    break;
  case 1:                       /* a part of a block */
    *count = 1 + any_of (s, MIN (most, block));
    break;
  case 2:                       /* some blocks */
    *count = 1 + any_of (s, MIN (most, 5 * block));
    break;
  }
  *offset = any_of (s, m->size - *count + 1);
  if (any_of (s, 2))
    *offset = ROUND_DOWN (*offset, block);
}

/* Make a request, and set *FAILED if it fails.  Returns what is wrong with its
 * result, or NULL.
 */
static const char *
request (struct model *m, uint64_t offset, uint64_t count, bool *failed)
{
  unsigned char *buf = malloc (count + 1);
  const char *wrong = NULL;
  int err = 0, r;

  buf[count] = 0x55;
  r = check_read (m->disk, &m->plugin_disk, &m->plugin.next, buf, count, offset,
                  &err);
  *failed = r == -1;
  if (r == -1)
    wrong = err > 0 ? NULL : "an error without its number";
  else if (!may_have (m, buf, offset, count))
    wrong = "wrong content";
  if (buf[count] != 0x55)
    wrong = "more bytes than requested";
  free (buf);
  return wrong;
}

/* Make a random request.  If *STOPPED is set, the request must fail.  If it
 * fails with FAIL_STOP, set *STOPPED.  Returns what is wrong, or NULL.
 */
static const char *
any_request (struct model *m, unsigned *s, bool *stopped)
{
  enum outcome outcome;
  uint64_t offset, count;
  const char *wrong;
  bool failed;

  any_range (m, s, &offset, &count);
  outcome = *stopped ? MUST_FAIL : request_outcome (m, offset, count);
  wrong = request (m, offset, count, &failed);
  if (!wrong && failed && outcome == MUST_PASS)
    wrong = "good content was refused";
  if (!wrong && !failed && outcome == MUST_FAIL)
    wrong = "a request did not fail";
  *stopped = *stopped || (failed && verify_params.fail == FAIL_STOP);
  return wrong;
}

/* ---- After requests ---- */

/* Check that cached content is right.  The only disk has the number 0, so the
 * number of an entry is that of its block.
 */
static void
check_cache (const struct model *m)
{
  size_t i;

  for (i = 0; i < BLOCK_CACHE_ENTRIES; i++) {
    const struct lru_entry *entry = &cached_blocks.entries[i];
    uint64_t start = entry->number * m->block_size;

    if (entry->used > 0)
      assert_memory_equal (entry->bytes, m->plugin.bytes + start,
                           MIN (m->block_size, m->size - start));
  }
}

/* Check the state of each block against the model, and the counts of states.
 * If no fault is transient, check also that at least one error was logged if
 * blocks are bad or unreadable, and at most one for each of these blocks.
 */
static void
check_tally (struct model *m)
{
  struct tally *tally = &m->disk->tally;
  uint64_t counts[BLOCK_STATES] = { 0 }, block;
  bool transient = false;
  size_t i;

  for (block = 0; block < m->disk->blocks; block++) {
    enum outcome outcome = m->blocks[block].outcome;
    enum block_state state;

    tally_get_run (tally, block, &state);
    counts[state]++;
    if (state == BLOCK_OK)
      assert_int_not_equal (outcome, MUST_FAIL);
    if (state == BLOCK_DIFFERS || state == BLOCK_UNREADABLE)
      assert_int_not_equal (outcome, MUST_PASS);
    if (state == BLOCK_UNREADABLE)
      assert_int_not_equal (m->blocks[block].reading, MUST_PASS);
  }
  for (i = 0; i < BLOCK_STATES; i++)
    assert_int_equal (counts[i], tally->counts[i]);
  for (i = 0; i < m->plugin.nr_faults; i++)
    transient |= m->plugin.faults[i].times != -1;
  if (transient)
    return;
  assert_int_equal (tally->transient, 0);
  assert_true (errors <= counts[BLOCK_DIFFERS] + counts[BLOCK_UNREADABLE]);
  if (counts[BLOCK_DIFFERS] + counts[BLOCK_UNREADABLE] > 0)
    assert_int_not_equal (errors, 0);
}

/* ---- Tests ---- */

static uint32_t
any_block_size (void)
{
  return 4u << any (any (16) ? 15 : 23);
}

static void
run_round (uint32_t block_size)
{
  unsigned i, requests = block_size > MiB ? 4 : 30;
  bool stopped = false;
  struct model *m;

  any_params ();
  m = new_model (block_size);
  errors = 0;
  for (i = 0; i < requests; i++) {
    const char *wrong = any_request (m, &seed, &stopped);

    if (wrong)
      fail_msg ("%s: %s", wrong, last_error);
    check_cache (m);
  }
  check_tally (m);
  assert_int_equal (m->plugin.misused, 0);
  free_model (m);
}

static void
test_random (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < rounds; i++)
    run_round (any_block_size ());
}

static void
test_block_sizes (void **state)
{
  unsigned shift;

  (void) state;
  for (shift = 2; shift <= 24; shift++)
    run_round (1u << shift);
}

struct reader {
  struct model *m;
  unsigned seed;
  const char *wrong;
};

static void *
read_at_random (void *opaque)
{
  struct reader *reader = opaque;
  bool stopped = false;
  unsigned i;

  for (i = 0; i < 25 && !reader->wrong; i++)
    reader->wrong = any_request (reader->m, &reader->seed, &stopped);
  return NULL;
}

/* Threads read one disk.  FAIL_STOP is not used, because it makes the requests
 * of all threads fail.
 */
static void
test_threads (void **state)
{
  unsigned i, k;

  (void) state;
  for (i = 0; i < rounds / 5; i++) {
    pthread_t threads[THREADS];
    struct reader readers[THREADS];
    struct model *m;

    any_params ();
    if (verify_params.fail == FAIL_STOP)
      verify_params.fail = FAIL_ERROR;
    m = new_model (4u << any (15));
    for (k = 0; k < THREADS; k++) {
      readers[k] = (struct reader) { m, seed + k, NULL };
      assert_int_equal (pthread_create (&threads[k], NULL, read_at_random,
                                        &readers[k]), 0);
    }
    for (k = 0; k < THREADS; k++)
      pthread_join (threads[k], NULL);
    for (k = 0; k < THREADS; k++)
      if (readers[k].wrong)
        fail_msg ("%s: %s", readers[k].wrong, last_error);
    check_cache (m);
    free_model (m);
  }
}

/* A disk of BLOCKS blocks of 4 KiB, the first ZEROS of which are zero. */
static struct model *
sparse_model (uint64_t blocks, uint64_t zeros)
{
  struct model *m;
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  char *sum;

  verify_params = (struct verify_params) { .retry = 1 };
  m = calloc (1, sizeof *m);
  m->block_size = 4096;
  m->size = blocks * 4096;
  plugin_init (&m->plugin, m->size);
  memset (m->plugin.bytes + zeros * 4096, 1, m->size - zeros * 4096);
  blkhash_opts_set_block_size (opts, 4096);
  sum = manifest_of (opts, m->plugin.bytes, m->size, path);
  m->disk = verify_disk_open (open (path, O_RDONLY), path, sum);
  assert_int_equal (verify_disk_load (m->disk, 0), 0);
  free (sum);
  blkhash_opts_free (opts);
  assert_int_equal (plugin_disk_init (&m->plugin_disk, &m->plugin.next), 0);
  compute_outcomes (m);
  errors = 0;
  return m;
}

static struct model *
plain_model (uint64_t blocks)
{
  return sparse_model (blocks, 0);
}

/* A block is read from the plugin once, even if clients read it in parts. */
static void
test_cached (void **state)
{
  struct model *m = plain_model (8);
  uint64_t offset;
  bool failed;

  (void) state;
  for (offset = 0; offset < m->size; offset += 512)
    assert_null (request (m, offset, 512, &failed));
  assert_int_equal (m->plugin.reads, 8);
  free_model (m);
}

/* Zeros that are not read do not replace blocks in the cache. */
static void
test_zeros_not_cached (void **state)
{
  struct model *m;
  uint64_t i;
  bool failed;

  (void) state;
  m = sparse_model (1000, 999);
  assert_null (request (m, m->size - 10, 1, &failed));
  for (i = 0; i < 999; i++)
    assert_null (request (m, i * 4096, 1, &failed));
  assert_null (request (m, m->size - 20, 1, &failed));
  assert_int_equal (m->plugin.reads, 1);
  free_model (m);
}

/* ---- Parts of one block, at the same time ---- */

static atomic_uint waits;
static int (*plugin_pread) (nbdkit_next *, void *, uint32_t, uint64_t,
                            uint32_t, int *);

int __real_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *mutex);

int
__wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *mutex)
{
  waits++;
  return __real_pthread_cond_wait (cond, mutex);
}

/* The first read does not end before all other threads wait or read. */
static int
held_pread (nbdkit_next *next, void *buf, uint32_t len, uint64_t offset,
            uint32_t flags, int *err)
{
  struct plugin *plugin = (struct plugin *) next;
  int r = plugin_pread (next, buf, len, offset, flags, err);

  while (waits + plugin->reads < THREADS)
    usleep (100);
  return r;
}

static void *
read_a_part (void *opaque)
{
  struct reader *reader = opaque;
  bool failed = false;

  reader->wrong = request (reader->m, reader->seed * 512, 512, &failed);
  if (failed)
    reader->wrong = "failed";
  return NULL;
}

/* Returns how many of THREADS requests fail if the first TIMES reads fail, or
 * all reads if TIMES is -1.  The number of reads must be from LEAST to MOST.
 */
static unsigned
read_one_block (int times, unsigned retry, unsigned least, unsigned most)
{
  struct model *m = plain_model (1);
  struct reader readers[THREADS];
  pthread_t threads[THREADS];
  unsigned k, failed = 0;

  verify_params.retry = retry;
  waits = 0;
  plugin_pread = m->plugin.next.pread;
  m->plugin.next.pread = held_pread;
  m->plugin.faults[m->plugin.nr_faults++] = (struct fault) {
    .kind = FAULT_FAIL, .start = 0, .end = 1, .err = EIO, .times = times,
    .left = times,
  };
  for (k = 0; k < THREADS; k++) {
    readers[k] = (struct reader) { m, k, NULL };
    assert_int_equal (pthread_create (&threads[k], NULL, read_a_part,
                                      &readers[k]), 0);
  }
  for (k = 0; k < THREADS; k++) {
    pthread_join (threads[k], NULL);
    failed += readers[k].wrong != NULL;
  }
  assert_in_range (m->plugin.reads, least, most);
  check_cache (m);
  free_model (m);
  return failed;
}

/* One thread reads the block for all threads, unless its read fails. */
static void
test_parts_at_once (void **state)
{
  (void) state;
  assert_int_equal (read_one_block (0, 0, 1, 1), 0);
  assert_int_equal (read_one_block (1, 1, 2, 2), 0);
  assert_int_equal (read_one_block (1, 0, 2, THREADS), 1);
  assert_int_equal (read_one_block (-1, 1, 2 * THREADS, 2 * THREADS), THREADS);
}

/* ---- Unreadable and wrong blocks ---- */

/* The maximum number of reads, with retries, to find an unreadable block among
 * COUNT blocks.
 */
static unsigned
most_reads (uint64_t count)
{
  unsigned halves = 0;

  while (UINT64_C (1) << halves < count)
    halves++;
  return (count > 1 ? 2 + halves : 1) + verify_params.retry;
}

/* Blocks from FIRST to LAST cannot be read.  A request for all blocks finds the
 * first of them with a few reads, and fails.  The blocks before it are good,
 * and those after LAST can be read alone.
 */
static void
check_unreadable (uint64_t count, uint64_t first, uint64_t last,
                  unsigned retry)
{
  struct model *m = plain_model (count);
  const uint64_t *counts = m->disk->tally.counts;
  struct fault *fault = &m->plugin.faults[m->plugin.nr_faults++];
  char expected[200];
  uint64_t i;
  bool failed;

  verify_params.retry = retry;
  *fault = (struct fault) {
    .kind = FAULT_FAIL, .start = first * 4096, .end = last * 4096 + 1,
    .err = ENOSPC, .times = -1, .left = -1,
  };
  assert_null (request (m, 0, m->size, &failed));
  assert_true (failed);
  assert_in_range (m->plugin.reads, 1, most_reads (count));
  sprintf (expected, "blkhash-verify: 4096 bytes at %u cannot be read: "
           "No space left on device", (unsigned) first * 4096);
  assert_string_equal (last_error, expected);
  assert_int_equal (counts[BLOCK_OK], first);
  assert_int_equal (counts[BLOCK_UNREADABLE], 1);
  assert_int_equal (counts[BLOCK_MISSING], count - first - 1);
  assert_null (request (m, 0, m->size, &failed));
  assert_true (failed);
  assert_int_equal (errors, 1);
  for (i = 0; i < count; i++) {
    assert_null (request (m, i * 4096, 4096, &failed));
    assert_int_equal (failed, first <= i && i <= last);
  }
  assert_int_equal (counts[BLOCK_UNREADABLE], last - first + 1);
  assert_int_equal (counts[BLOCK_OK], count - (last - first + 1));
  assert_int_equal (m->disk->tally.transient, 0);
  free_model (m);
}

static void
test_unreadable (void **state)
{
  static const uint64_t counts[] = { 1, 2, 3, 4, 5, 100, 1000, 1023, 1024 };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    uint64_t n = counts[i], first = any (n);

    check_unreadable (n, 0, 0, 1);
    check_unreadable (n, n - 1, n - 1, 0);
    check_unreadable (n, first, first, 3);
    check_unreadable (n, first, first + any (n - first), 1);
    check_unreadable (n, 0, n - 1, 1);
  }
}

/* Only the last block is unreadable.  Each failing read can take as long as a
 * timeout, so there must be few.  Three reads fail: that of all blocks, that of
 * the last block alone, and its retry.
 */
static void
test_failing_reads (void **state)
{
  struct model *m = plain_model (1024);
  struct fault *fault = &m->plugin.faults[m->plugin.nr_faults++];
  bool failed;

  (void) state;
  *fault = (struct fault) {
    .kind = FAULT_FAIL, .start = m->size - 1, .end = m->size, .err = EIO,
    .times = 1000, .left = 1000,
  };
  assert_null (request (m, 0, m->size, &failed));
  assert_true (failed);
  assert_int_equal (fault->times - fault->left, 3);
  free_model (m);
}

/* A request passes if the last retry of its unreadable block succeeds.  The
 * block counts as transient only if a read of it alone had failed before.  Ten
 * reads are of 1024, 512 and so on down to 2 blocks; the 11th is of block 0
 * alone, and two retries follow.
 */
static void
test_passing_failures (void **state)
{
  struct model *m;
  unsigned times;
  bool failed;

  (void) state;
  for (times = 1; times <= 13; times++) {
    struct fault *fault;

    m = plain_model (1024);
    fault = &m->plugin.faults[m->plugin.nr_faults++];
    verify_params.retry = 2;
    *fault = (struct fault) {
      .kind = FAULT_FAIL, .start = 0, .end = 1, .err = EIO,
      .times = times, .left = times,
    };
    assert_null (request (m, 0, m->size, &failed));
    assert_int_equal (m->disk->tally.counts[BLOCK_OK], failed ? 0 : 1024);
    assert_int_equal (failed, times > 12);
    assert_int_equal (m->disk->tally.transient, times == 11 || times == 12);
    free_model (m);
  }
}

/* 1000 blocks are always wrong, and another block only in the first two reads
 * of it.  When the retries of the first wrong block have failed, it is certain
 * that the request fails, and the other wrong blocks are retried together.
 */
static void
test_all_wrong (void **state)
{
  struct model *m = plain_model (1024);
  char expected[200];
  bool failed;

  (void) state;
  verify_params.retry = 2;
  m->plugin.faults[0] = (struct fault) {
    .kind = FAULT_ZERO, .start = 0, .end = 1000 * 4096, .times = -1, .left = -1,
  };
  m->plugin.faults[1] = (struct fault) {
    .kind = FAULT_FLIP, .start = 1010 * 4096, .end = 1010 * 4096 + 1,
    .times = 2, .left = 2,
  };
  m->plugin.nr_faults = 2;
  assert_null (request (m, 0, m->size, &failed));
  assert_true (failed);
  assert_int_equal (m->plugin.reads, 5);
  assert_int_equal (m->disk->tally.counts[BLOCK_DIFFERS], 1000);
  assert_int_equal (m->disk->tally.counts[BLOCK_OK], 24);
  assert_int_equal (m->disk->tally.transient, 1);
  sprintf (expected, "blkhash-verify: 4096000 bytes at 0 differ from %s",
           path);
  assert_string_equal (last_error, expected);
  assert_int_equal (errors, 1);
  free_model (m);
}

/* A bad range is reported once, and again if it was good in between.  When it
 * becomes good, the blocks before it, which were good, count as not read.
 */
static void
test_reports (void **state)
{
  struct model *m = plain_model (3000);
  struct fault *fault = &m->plugin.faults[0];
  char expected[200];
  bool failed;

  (void) state;
  *fault = (struct fault) {
    .kind = FAULT_ZERO, .start = 10 * 4096, .end = 20 * 4096, .times = -1,
    .left = -1,
  };
  m->plugin.nr_faults = 1;
  assert_null (request (m, 0, m->size, &failed));
  assert_true (failed);
  sprintf (expected, "blkhash-verify: 40960 bytes at 40960 differ from %s",
           path);
  assert_string_equal (last_error, expected);
  assert_null (request (m, 0, m->size, &failed));
  assert_int_equal (errors, 1);
  fault->left = 0;
  assert_null (request (m, 0, m->size, &failed));
  assert_false (failed);
  assert_int_equal (m->disk->tally.counts[BLOCK_MISSING], 10);
  assert_int_equal (m->disk->tally.counts[BLOCK_OK], 2990);
  fault->left = -1;
  assert_null (request (m, 0, m->size, &failed));
  assert_true (failed);
  assert_int_equal (errors, 2);
  free_model (m);
}

/* A block is bad in the first read, and good when it is retried. */
static void
test_transient (void **state)
{
  struct model *m = plain_model (100);
  bool failed;

  (void) state;
  m->plugin.faults[0] = (struct fault) {
    .kind = FAULT_FLIP, .start = 5000, .end = 5001, .times = 1, .left = 1,
  };
  m->plugin.nr_faults = 1;
  assert_null (request (m, 0, m->size, &failed));
  assert_false (failed);
  assert_int_equal (m->disk->tally.transient, 1);
  assert_int_equal (errors, 0);
  free_model (m);
}

/* The manifest is changed while the server uses it: requests fail, and the
 * change is logged only once.
 */
static void
test_manifest_changed (void **state)
{
  struct model *m = plain_model (100);
  char expected[200];
  unsigned i;
  bool failed;

  (void) state;
  assert_int_equal (truncate (path, 600), 0);
  for (i = 0; i < 3; i++) {
    assert_null (request (m, i * 5000, 5000, &failed));
    assert_true (failed);
  }
  sprintf (expected, "blkhash-verify: %s has changed since nbdkit started: "
           "blocks whose digests are in a changed part cannot be verified",
           path);
  assert_string_equal (last_error, expected);
  assert_int_equal (errors, 1);
  assert_int_equal (m->plugin.reads, 0);
  free_model (m);
}

static int
set_up (void **state)
{
  int fd = mkstemp (path);

  (void) state;
  return fd == -1 ? -1 : close (fd);
}

static int
tear_down (void **state)
{
  (void) state;
  return unlink (path);
}

int
main (void)
{
  const char *given = getenv ("BLKHASH_ROUNDS");
  const char *slow = getenv ("BLKHASH_SLOW");
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_block_sizes),
    cmocka_unit_test (test_threads),
    cmocka_unit_test (test_cached),
    cmocka_unit_test (test_zeros_not_cached),
    cmocka_unit_test (test_parts_at_once),
    cmocka_unit_test (test_unreadable),
    cmocka_unit_test (test_failing_reads),
    cmocka_unit_test (test_passing_failures),
    cmocka_unit_test (test_all_wrong),
    cmocka_unit_test (test_reports),
    cmocka_unit_test (test_transient),
    cmocka_unit_test (test_manifest_changed),
  };

  seed = get_seed ();
  if (slow && *slow && strcmp (slow, "0") != 0)
    rounds = 5000;
  if (given)
    rounds = strtoul (given, NULL, 10);
  return cmocka_run_group_tests (tests, set_up, tear_down);
}
