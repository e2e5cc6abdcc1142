/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: every kernel (multi-buffer implementation) of every hash is
 * compared with OpenSSL or libb2.  Also tested is the code that the kernels
 * share: padding, lanes that have no message, and the self-test.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"
#include "lanes/lanes.h"
#include "lanes/test-digest.h"

#define MAX_LEN (1024 * 1024)

/* Random bytes.  The messages of the lanes are parts of this buffer, and can
 * overlap.
 */
static unsigned char *noise;
#define NOISE_SIZE (MAX_LEN + 64 * LANES_MAX)

/* The hash and the kernel that a test is for. */
struct subject {
  const struct lane_hash *hash;
  const struct lane_kernel *kernel; /* NULL: the test needs no kernel */
};

static const struct lane_hash *hash; /* hash of the running test */

static void
use_hash (void **state)
{
  const struct subject *subject = *state;

  hash = subject->hash;
}

static const struct lane_kernel *
kernel_of (void **state)
{
  const struct subject *subject = *state;
  const struct lane_kernel *kernel = subject->kernel;

  use_hash (state);
  if (kernel->cpu & ~cpu_features ()) {
    print_message ("SKIP: this CPU cannot run %s\n", kernel->name);
    skip ();
  }
  return kernel;
}

/* Check the digests of COUNT messages.  The digests are stored in an array that
 * also has bytes before and after each, which must not change.
 */
static void
check (const struct lane_kernel *kernel, const void *const data[],
       size_t len, size_t count)
{
  unsigned char out[LANES_MAX + 1][2 * LANE_MAX_MD];
  unsigned char *md[LANES_MAX];
  unsigned char expected[LANE_MAX_MD], around[LANE_MAX_MD];
  size_t i;

  memset (out, 0xa5, sizeof out);
  memset (around, 0xa5, sizeof around);
  for (i = 0; i < LANES_MAX; i++)
    md[i] = out[i] + LANE_MAX_MD;
  lane_kernel_hash (hash, kernel, data, len, md, count);
  for (i = 0; i < count; i++) {
    assert_true (test_digest (hash, data[i], len, expected));
    if (memcmp (md[i], expected, hash->md) != 0)
      fail_msg ("%s: lane %zu of %zu, %zu bytes", kernel->name, i, count, len);
    assert_memory_equal (out[i], around, LANE_MAX_MD);
    assert_memory_equal (md[i] + hash->md, around, LANE_MAX_MD - hash->md);
  }
  for (; i < LANES_MAX; i++)
    assert_memory_equal (out[i] + LANE_MAX_MD, around, LANE_MAX_MD);
  assert_memory_equal (out[LANES_MAX], around, LANE_MAX_MD);
}

/* Check COUNT lanes, each with a different message of LEN bytes. */
static void
check_at (const struct lane_kernel *kernel, size_t offset, size_t len,
          size_t count)
{
  const void *data[LANES_MAX];
  size_t i;

  for (i = 0; i < count; i++)
    data[i] = noise + offset + i * 61;
  check (kernel, data, len, count);
}

/* Returns the maximum number of messages that all have a lane. */
static size_t
all_lanes (const struct lane_kernel *kernel)
{
  return LANES_MAX / kernel->lanes * kernel->lanes;
}

static void
test_lengths (void **state)
{
  const struct lane_kernel *kernel = kernel_of (state);
  static const size_t more[] = {
    511, 4096, 16384, 65535, 65536, 65536 + 55, 65536 + 56, 65536 + 111,
    65536 + 112, MAX_LEN - 1, MAX_LEN,
  };
  size_t len, i;

  for (len = 0; len <= 3 * hash->block + 1; len++) {
    check_at (kernel, 0, len, kernel->lanes);
    check_at (kernel, 0, len, all_lanes (kernel));
  }
  for (i = 0; i < sizeof more / sizeof more[0]; i++)
    check_at (kernel, 0, more[i], kernel->lanes);
}

static void
test_counts (void **state)
{
  const struct lane_kernel *kernel = kernel_of (state);
  size_t count;

  for (count = 1; count <= all_lanes (kernel);
       count += count < kernel->lanes ? 1 : kernel->lanes) {
    check_at (kernel, count, 0, count);
    check_at (kernel, count, 2 * hash->block + 1, count);
    check_at (kernel, count, 4096, count);
  }
}

static void
test_alignments (void **state)
{
  const struct lane_kernel *kernel = kernel_of (state);
  const void *data[LANES_MAX];
  size_t offset, i;

  for (offset = 0; offset < 64; offset++) {
    check_at (kernel, offset, 300, kernel->lanes);
    for (i = 0; i < all_lanes (kernel); i++) /* the same in all lanes */
      data[i] = noise + i * 4096 + offset;
    check (kernel, data, 300, kernel->lanes);
    check (kernel, data, 300, all_lanes (kernel));
  }
}

/* Messages end just before an inaccessible page, or begin just after one. */
static void
test_guard_pages (void **state)
{
  const struct lane_kernel *kernel = kernel_of (state);
  const size_t page = sysconf (_SC_PAGESIZE);
  const void *data[LANES_MAX];
  unsigned char *memory;
  size_t len, i;

  memory = mmap (NULL, 3 * page, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal (memory, MAP_FAILED);
  memcpy (memory + page, noise, page);
  assert_int_equal (mprotect (memory, page, PROT_NONE), 0);
  assert_int_equal (mprotect (memory + 2 * page, page, PROT_NONE), 0);
  for (len = 0; len <= 3 * hash->block + 1; len++) {
    /* Even lanes end before a guard page, odd lanes start after one. */
    for (i = 0; i < all_lanes (kernel); i++)
      data[i] = memory + page + (i % 2 == 0 ? page - len : 0);
    check (kernel, data, len, kernel->lanes);
    check (kernel, data, len, all_lanes (kernel));
    for (i = 0; i < all_lanes (kernel); i++)
      data[i] = memory + page + (i % 2 == 1 ? page - len : 0);
    check (kernel, data, len, kernel->lanes);
    check (kernel, data, len, all_lanes (kernel));
  }
  for (i = 0; i < kernel->lanes; i++)
    data[i] = memory + page;
  check (kernel, data, page, kernel->lanes);
  munmap (memory, 3 * page);
}

/* The padding ends with the length of the message in bits, and no byte of this
 * length may be lost.  Nothing is hashed in this test: instead of a kernel, a
 * function is called that stores this length and the number of message blocks.
 */
static unsigned char length_field[16];
static size_t length_blocks;

static void
look_at_length (void *state, const unsigned char *const *data,
                size_t blocks)
{
  (void) state;
  if (blocks <= 2)
    memcpy (length_field, data[0] + blocks * hash->block - hash->length,
            hash->length);
  else
    length_blocks = blocks;
}

static void
test_long_messages (void **state)
{
  static const struct lane_kernel kernel = {
    .lanes = 2, .compress = look_at_length
  };
  unsigned char out[2][LANE_MAX_MD], *md[2] = { out[0], out[1] };
  const void *data[2] = { noise, noise };
  unsigned bit;

  use_hash (state);
  if (hash->kind != LANE_FIPS180)
    skip ();                    /* this hash has no length field */
  for (bit = 9; bit < 8 * sizeof (size_t) - 3; bit++) {
    uint64_t bits = 0;

    lane_kernel_hash (hash, &kernel, data, (size_t) 1 << bit, md, 2);
    for (size_t i = 0; i < hash->length; i++) {
      assert_int_equal (bits >> 56, 0);
      bits = bits << 8 | length_field[i];
    }
    assert_true (bits == (uint64_t) 8 << bit);
    assert_true (length_blocks == ((size_t) 1 << bit) / hash->block);
  }
}

/* The self-test must detect a kernel that computes one bit of one lane wrong,
 * and a kernel in which one lane hashes the message of the next lane.
 */
static const struct lane_kernel *good;
static size_t bad_lane;

static void
compress_one_wrong (void *state, const unsigned char *const *data,
                    size_t blocks)
{
  const size_t last = hash->md / hash->word - 1; /* last word of the digest */
  unsigned char *bytes = state;

  good->compress (state, data, blocks);
  bytes[(last * good->lanes + bad_lane) * hash->word] ^= 1;
}

static void
compress_two_mistaken (void *state, const unsigned char *const *data,
                       size_t blocks)
{
  const unsigned char *mistaken[LANES_MAX];

  memcpy (mistaken, data, good->lanes * sizeof mistaken[0]);
  mistaken[bad_lane] = data[(bad_lane + 1) % good->lanes];
  good->compress (state, mistaken, blocks);
}

static void
compress_many_but_last (void *states, const unsigned char *const *data,
                        size_t blocks, size_t count)
{
  good->compress_many (states, data, blocks, count - 1);
}

static void
test_self_test (void **state)
{
  struct lane_kernel bad = *kernel_of (state);

  good = kernel_of (state);
  assert_true (lane_kernel_works (hash, good));
  for (bad_lane = 0; bad_lane < good->lanes; bad_lane++) {
    bad.compress = compress_one_wrong;
    assert_false (lane_kernel_works (hash, &bad));
    bad.compress = compress_two_mistaken;
    assert_false (lane_kernel_works (hash, &bad));
  }
  if (!good->compress_many)
    return;
  bad = *good;
  bad.compress_many = compress_many_but_last;
  assert_false (lane_kernel_works (hash, &bad));
}

struct test {
  const char *name;
  CMUnitTestFunction function;
};

static const struct test of_kernels[] = {
  { "lengths", test_lengths },
  { "counts", test_counts },
  { "alignments", test_alignments },
  { "guard pages", test_guard_pages },
  { "self-test", test_self_test },
  { NULL, NULL },
}, of_hashes[] = {
  { "long messages", test_long_messages },
  { NULL, NULL },
};

#define MAX_TESTS 400

static struct CMUnitTest tests[MAX_TESTS];
static char names[MAX_TESTS][60];
static size_t nr_tests;

static void
add_tests (const struct test *test, const struct subject *subject)
{
  for (; test->name; test++, nr_tests++) {
    assert_true (nr_tests < MAX_TESTS);
    snprintf (names[nr_tests], sizeof names[0], "%s%s%s: %s",
              subject->hash->name, subject->kernel ? " " : "",
              subject->kernel ? subject->kernel->name : "", test->name);
    tests[nr_tests].name = names[nr_tests];
    tests[nr_tests].test_func = test->function;
    tests[nr_tests].initial_state = (void *) subject;
  }
}

int
main (void)
{
  static struct subject subjects[MAX_TESTS];
  struct subject *subject = subjects;
  size_t i, k;
  int r;

  noise = malloc (NOISE_SIZE);
  if (!noise)
    return EXIT_FAILURE;
  srand (1);
  for (i = 0; i < NOISE_SIZE; i++)
    noise[i] = rand () >> 8;
  for (i = 0; lane_hashes[i]; i++) {
    *subject = (struct subject) { lane_hashes[i], NULL };
    add_tests (of_hashes, subject++);
    for (k = 0; lane_hashes[i]->kernels[k]; k++) {
      *subject = (struct subject) { lane_hashes[i],
                                    lane_hashes[i]->kernels[k] };
      add_tests (of_kernels, subject++);
    }
  }
  r = _cmocka_run_group_tests ("kernels", tests, nr_tests, NULL, NULL);
  free (noise);
  return r;
}
