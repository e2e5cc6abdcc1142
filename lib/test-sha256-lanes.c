/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: every kernel against OpenSSL, and the choice between them.  The
 * linker puts stand-ins before the questions what the CPU has and whether a
 * kernel works.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "blkhash.h"
#include "cpu.h"
#include "sha256-kernel.h"
#include "sha256-lanes.h"

#define MD_SIZE 32
#define MAX_LEN (1024 * 1024)

unsigned __real_cpu_features (void);
unsigned __wrap_cpu_features (void);
bool __real_sha256_kernel_works (const struct sha256_kernel *kernel);
bool __wrap_sha256_kernel_works (const struct sha256_kernel *kernel);

static unsigned masked;         /* features that the CPU has not */
static bool other_vendor;       /* with other costs */
static const struct sha256_kernel *broken;
static unsigned proven;         /* the features that kernels needed */

unsigned
__wrap_cpu_features (void)
{
  return (__real_cpu_features () ^ (other_vendor ? CPU_AMD : 0)) & ~masked;
}

bool
__wrap_sha256_kernel_works (const struct sha256_kernel *kernel)
{
  proven |= kernel->cpu;
  return kernel != broken && __real_sha256_kernel_works (kernel);
}

/* One buffer of random bytes for all: a lane begins anywhere in it. */
static unsigned char *noise;
#define NOISE_SIZE (MAX_LEN + 64 * SHA256_MAX_LANES)

static const struct sha256_kernel *
kernel_of (void **state)
{
  const struct sha256_kernel *kernel = *state;

  if (kernel->cpu & ~cpu_features ()) {
    print_message ("SKIP: this CPU cannot run %s\n", kernel->name);
    skip ();
  }
  return kernel;
}

/* The digests of COUNT messages in an array of their own, surrounded by bytes
 * that must stay.
 */
static void
check (const struct sha256_kernel *kernel, const void *const data[],
       size_t len, size_t count)
{
  unsigned char out[SHA256_MAX_LANES + 1][2 * MD_SIZE];
  unsigned char *md[SHA256_MAX_LANES];
  unsigned char expected[MD_SIZE], around[MD_SIZE];
  size_t i;

  memset (out, 0xa5, sizeof out);
  memset (around, 0xa5, sizeof around);
  for (i = 0; i < SHA256_MAX_LANES; i++)
    md[i] = out[i] + MD_SIZE;
  sha256_kernel_hash (kernel, data, len, md, count);
  for (i = 0; i < count; i++) {
    assert_int_equal (EVP_Digest (data[i], len, expected, NULL, EVP_sha256 (),
                                  NULL), 1);
    if (memcmp (md[i], expected, MD_SIZE) != 0)
      fail_msg ("%s: lane %zu of %zu, %zu bytes", kernel->name, i, count, len);
    assert_memory_equal (out[i], around, MD_SIZE);
  }
  for (; i < SHA256_MAX_LANES; i++)
    assert_memory_equal (out[i] + MD_SIZE, around, MD_SIZE);
  assert_memory_equal (out[SHA256_MAX_LANES], around, MD_SIZE);
}

/* Each lane has content of its own. */
static void
check_at (const struct sha256_kernel *kernel, size_t offset, size_t len,
          size_t count)
{
  const void *data[SHA256_MAX_LANES];
  size_t i;

  for (i = 0; i < count; i++)
    data[i] = noise + offset + i * 61;
  check (kernel, data, len, count);
}

static void
test_lengths (void **state)
{
  const struct sha256_kernel *kernel = kernel_of (state);
  static const size_t more[] = {
    511, 4096, 16384, 65535, 65536, 65536 + 55, 65536 + 56, MAX_LEN - 1,
    MAX_LEN,
  };
  size_t len, i;

  for (len = 0; len <= 3 * 64 + 1; len++)
    check_at (kernel, 0, len, kernel->lanes);
  for (i = 0; i < sizeof more / sizeof more[0]; i++)
    check_at (kernel, 0, more[i], kernel->lanes);
}

static void
test_counts (void **state)
{
  const struct sha256_kernel *kernel = kernel_of (state);
  size_t count;

  for (count = 1; count <= kernel->lanes; count++) {
    check_at (kernel, count, 0, count);
    check_at (kernel, count, 129, count);
    check_at (kernel, count, 4096, count);
  }
}

static void
test_alignments (void **state)
{
  const struct sha256_kernel *kernel = kernel_of (state);
  const void *data[SHA256_MAX_LANES];
  size_t offset, i;

  for (offset = 0; offset < 64; offset++) {
    check_at (kernel, offset, 300, kernel->lanes);
    for (i = 0; i < kernel->lanes; i++) /* all with the same */
      data[i] = noise + i * 4096 + offset;
    check (kernel, data, 300, kernel->lanes);
  }
}

/* Messages that end where memory does, and that begin where it does. */
static void
test_guard_pages (void **state)
{
  const struct sha256_kernel *kernel = kernel_of (state);
  const size_t page = sysconf (_SC_PAGESIZE);
  const void *data[SHA256_MAX_LANES];
  unsigned char *memory;
  size_t len, i;

  memory = mmap (NULL, 3 * page, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal (memory, MAP_FAILED);
  memcpy (memory + page, noise, page);
  assert_int_equal (mprotect (memory, page, PROT_NONE), 0);
  assert_int_equal (mprotect (memory + 2 * page, page, PROT_NONE), 0);
  for (len = 0; len <= 3 * 64 + 1; len++) {
    /* At the end in one lane, at the beginning in the next. */
    for (i = 0; i < kernel->lanes; i++)
      data[i] = memory + page + (i % 2 == 0 ? page - len : 0);
    check (kernel, data, len, kernel->lanes);
    for (i = 0; i < kernel->lanes; i++)
      data[i] = memory + page + (i % 2 == 1 ? page - len : 0);
    check (kernel, data, len, kernel->lanes);
  }
  for (i = 0; i < kernel->lanes; i++)
    data[i] = memory + page;
  check (kernel, data, page, kernel->lanes);
  munmap (memory, 3 * page);
}

/* The length in bits ends the padding, with all its bytes: no kernel hashes
 * here, this takes the place of one and looks at what it is given.
 */
static unsigned char length_field[8];
static size_t length_blocks;

static void
look_at_length (uint32_t *state, const unsigned char *const *data,
                size_t blocks)
{
  (void) state;
  if (blocks <= 2)
    memcpy (length_field, data[0] + blocks * 64 - 8, 8);
  else
    length_blocks = blocks;
}

static void
test_long_messages (void **state)
{
  static const struct sha256_kernel kernel = {
    .lanes = 2, .compress = look_at_length
  };
  unsigned char out[2][MD_SIZE], *md[2] = { out[0], out[1] };
  const void *data[2] = { noise, noise };
  unsigned bit;

  (void) state;
  for (bit = 8; bit < 8 * sizeof (size_t) - 3; bit++) {
    uint64_t bits = 0;

    sha256_kernel_hash (&kernel, data, (size_t) 1 << bit, md, 2);
    for (size_t i = 0; i < 8; i++)
      bits = bits << 8 | length_field[i];
    assert_true (bits == (uint64_t) 8 << bit);
    assert_true (length_blocks == (size_t) 1 << (bit - 6));
  }
}

/* What the proof must find: kernels that are wrong in one bit of one lane, and
 * that mistake one lane for another.
 */
static const struct sha256_kernel *good;
static size_t bad_lane;

static void
compress_one_wrong (uint32_t *state, const unsigned char *const *data,
                    size_t blocks)
{
  good->compress (state, data, blocks);
  state[7 * good->lanes + bad_lane] ^= 1;
}

static void
compress_two_mistaken (uint32_t *state, const unsigned char *const *data,
                       size_t blocks)
{
  const unsigned char *mistaken[SHA256_MAX_LANES];

  memcpy (mistaken, data, good->lanes * sizeof mistaken[0]);
  mistaken[bad_lane] = data[(bad_lane + 1) % good->lanes];
  good->compress (state, mistaken, blocks);
}

static void
test_proof (void **state)
{
  struct sha256_kernel bad = *kernel_of (state);

  good = *state;
  assert_true (sha256_kernel_works (good));
  for (bad_lane = 0; bad_lane < good->lanes; bad_lane++) {
    bad.compress = compress_one_wrong;
    assert_false (sha256_kernel_works (&bad));
    bad.compress = compress_two_mistaken;
    assert_false (sha256_kernel_works (&bad));
  }
}

/* Only this kernel, by its name and by its family. */
static void
test_chosen (void **state)
{
  const struct sha256_kernel *kernel = kernel_of (state);
  unsigned char out[SHA256_MAX_LANES][MD_SIZE], expected[MD_SIZE];
  unsigned char *md[SHA256_MAX_LANES];
  const void *data[SHA256_MAX_LANES];
  struct sha256_lanes *lanes;
  char list[100];
  size_t i;

  for (i = 0; i < SHA256_MAX_LANES; i++) {
    md[i] = out[i];
    data[i] = noise + i;
  }
  snprintf (list, sizeof list, "no-such,%s", kernel->name);
  setenv ("BLKHASH_CPU", list, 1);
  lanes = sha256_lanes_create ();
  assert_non_null (lanes);
  /* It is used, however fast the others are that are not. */
  i = sha256_lanes_next (lanes, SHA256_MAX_LANES);
  assert_true (i >= 2 && i <= kernel->lanes);
  /* More than there are lanes is no error. */
  sha256_lanes_hash (lanes, data, 1000, md, SHA256_MAX_LANES);
  for (i = 0; i < SHA256_MAX_LANES; i++) {
    EVP_Digest (data[i], 1000, expected, NULL, EVP_sha256 (), NULL);
    assert_memory_equal (md[i], expected, MD_SIZE);
  }
  sha256_lanes_free (lanes);

  snprintf (list, sizeof list, "%s", kernel->name);
  *strchr (list, '-') = '\0';
  setenv ("BLKHASH_CPU", list, 1);
  lanes = sha256_lanes_create ();
  assert_non_null (lanes);
  sha256_lanes_free (lanes);
  unsetenv ("BLKHASH_CPU");
}

static void
test_none (void **state)
{
  static const char *const lists[] = { "", "none", ",", "sha", "shani-",
                                       "avx512-x1", "-x16", " shani" };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    setenv ("BLKHASH_CPU", lists[i], 1);
    assert_null (sha256_lanes_create ());
    assert_int_equal (errno, ENOTSUP);
  }
  unsetenv ("BLKHASH_CPU");
}

/* Kernels that this CPU cannot run are not even tried, nor those that are slow
 * on all CPUs but AMD's.
 */
static void
test_features (void **state)
{
  const unsigned features = __real_cpu_features ();
  struct sha256_lanes *lanes;

  (void) state;
  masked = ~0u;
  assert_null (sha256_lanes_create ());
  assert_int_equal (errno, ENOTSUP);
  for (unsigned bit = 1; bit <= features; bit <<= 1) {
    masked = bit;
    proven = 0;
    lanes = sha256_lanes_create ();
    assert_int_equal (proven & bit, 0);
    sha256_lanes_free (lanes);
  }
  masked = 0;
  for (size_t i = 0; sha256_kernels[i]; i++)
    if ((sha256_kernels[i]->cpu & CPU_SHANI) &&
        (sha256_kernels[i]->cpu & (CPU_AVX2 | CPU_AVX512)))
      assert_true (sha256_kernels[i]->cpu & CPU_AMD);
}

/* A kernel that computes wrong results is none to do without: who knows what
 * else is wrong.
 */
static void
test_broken (void **state)
{
  struct blkhash *h = blkhash_new ();

  assert_non_null (h);
  blkhash_free (h);
  broken = kernel_of (state);
  assert_null (sha256_lanes_create ());
  assert_int_equal (errno, EIO);
  assert_null (blkhash_new ());
  assert_int_equal (errno, EIO);
  setenv ("BLKHASH_CPU", "none", 1);
  h = blkhash_new ();
  assert_non_null (h);
  blkhash_free (h);
  unsetenv ("BLKHASH_CPU");
  broken = NULL;
}

/* The least cost of one call for COUNT messages, by hand: of the kernels whose
 * number is set in CHOSEN, or of OpenSSL.
 */
static unsigned
cost_of (size_t count, unsigned chosen, unsigned one)
{
  const bool amd = cpu_features () & CPU_AMD;
  unsigned i, cost, least = count == 1 ? one : 1000000;

  for (i = 0; sha256_kernels[i]; i++) {
    cost = amd ? sha256_kernels[i]->cost_amd : sha256_kernels[i]->cost;
    if ((chosen & 1 << i) && sha256_kernels[i]->lanes >= count && cost < least)
      least = cost;
  }
  return least;
}

/* With any set of kernels no number of messages costs more than with another
 * first call, or than one message more would; and no more messages are enough
 * than have the least cost for each.
 */
static void
check_plans (void)
{
  const unsigned features = cpu_features ();
  unsigned chosen, used, one, i, cost[SHA256_MAX_LANES + 1] = { 0 };
  struct sha256_lanes *lanes;
  size_t n, next, enough;

  for (i = 0; sha256_kernels[i]; i++)
    ;
  for (chosen = 1; chosen < 1u << i; chosen++) {
    char list[200] = "";

    used = 0;
    for (i = 0; sha256_kernels[i]; i++)
      if ((chosen & 1 << i)) {
        if (sha256_kernels[i]->cpu & ~features)
          break;
        strcat (list, ",");
        strcat (list, sha256_kernels[i]->name);
        used |= sha256_kernels[i]->cpu;
      }
    one = used & (CPU_SHANI | CPU_ARM_SHA2) ? 100 : 330;
    if (sha256_kernels[i]) {    /* this CPU cannot run one of them */
      while (sha256_kernels[i])
        i++;
      continue;
    }
    setenv ("BLKHASH_CPU", list, 1);
    lanes = sha256_lanes_create ();
    assert_non_null (lanes);
    for (n = 1; n <= SHA256_MAX_LANES; n++) {
      next = sha256_lanes_next (lanes, n);
      assert_true (next >= 1 && next <= n);
      cost[n] = cost_of (next, chosen, one) + cost[n - next];
      for (next = 1; next <= n; next++)
        assert_true (cost[n] <= cost_of (next, chosen, one) + cost[n - next]);
      assert_true (cost[n] <= n * one);
      assert_true (cost[n] >= cost[n - 1]);
    }
    enough = sha256_lanes_enough (lanes);
    for (n = 1; n <= SHA256_MAX_LANES; n++)
      assert_true (n < enough ? cost[n] * enough > cost[enough] * n
                              : cost[n] * enough >= cost[enough] * n);
    assert_int_equal (sha256_lanes_next (lanes, 1000000),
                      sha256_lanes_next (lanes, SHA256_MAX_LANES));
    sha256_lanes_free (lanes);
  }
  unsetenv ("BLKHASH_CPU");
}

static void
test_plan (void **state)
{
  (void) state;
  check_plans ();
  other_vendor = !(cpu_features () & CPU_ARM_SHA2); /* has one cost only */
  check_plans ();
  other_vendor = false;
}

int
main (void)
{
  static const struct {
    const char *name;
    CMUnitTestFunction function;
  } for_each[] = {
    { "lengths", test_lengths },
    { "counts", test_counts },
    { "alignments", test_alignments },
    { "guard pages", test_guard_pages },
    { "proof", test_proof },
    { "chosen", test_chosen },
    { "broken", test_broken },
  };
  enum { EACH = sizeof for_each / sizeof for_each[0], MAX_KERNELS = 10 };
  struct CMUnitTest tests[EACH * MAX_KERNELS + 4] = {
    cmocka_unit_test (test_none),
    cmocka_unit_test (test_plan),
    cmocka_unit_test (test_features),
    cmocka_unit_test (test_long_messages),
  };
  char names[EACH * MAX_KERNELS + 4][50];
  size_t i, k, n = 4;

  noise = malloc (NOISE_SIZE);
  if (!noise)
    return EXIT_FAILURE;
  srand (1);
  for (i = 0; i < NOISE_SIZE; i++)
    noise[i] = rand () >> 8;
  for (k = 0; sha256_kernels[k]; k++)
    for (i = 0; i < EACH; i++, n++) {
      snprintf (names[n], sizeof names[n], "%s: %s", sha256_kernels[k]->name,
                for_each[i].name);
      tests[n].name = names[n];
      tests[n].test_func = for_each[i].function;
      tests[n].initial_state = (void *) sha256_kernels[k];
    }
  i = _cmocka_run_group_tests ("kernels", tests, n, NULL, NULL);
  free (noise);
  return i;
}
