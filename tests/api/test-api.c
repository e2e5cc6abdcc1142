/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The public API, used as by a program with only the public headers: limits and
 * errors, the order of calls, the known answers, and the promises of the
 * headers about threads, forks and memory.  lib/test-random.py tests that
 * digests are right for all inputs.
 *
 * With an argument only tests whose name contains it are run.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blkhash-manifest.h"
#include "blkhash.h"

#define KiB 1024
#define MiB (1024 * KiB)
#define BLOCK (64 * KiB)        /* the default */
#define POLL_TIMEOUT 60000      /* ms */

static unsigned failures;

/* ---- Checks ---- */

static void check_at (int line, bool ok, const char *fmt, ...)
  __attribute__ ((format (printf, 3, 4)));

static void
check_at (int line, bool ok, const char *fmt, ...)
{
  va_list args;

  if (ok)
    return;
  failures++;
  printf ("test-api.c:%d: ", line);
  va_start (args, fmt);
  vprintf (fmt, args);
  va_end (args);
  putchar ('\n');
}

#define CHECK(condition) \
  check_at (__LINE__, (condition), "not so: %s", #condition)

#define CHECK_INT(expected, call)                                       \
  do {                                                                  \
    long long expected_ = (expected), got_ = (call);                    \
                                                                        \
    check_at (__LINE__, expected_ == got_, "%s: expected %lld, got %lld", \
              #call, expected_, got_);                                  \
  } while (0)

#define CHECK_ERRNO(expected, call)                                     \
  do {                                                                  \
    errno = 0;                                                          \
    check_at (__LINE__, (call) && errno == (expected),                  \
              "%s: expected errno %d, got %d", #call, expected, errno); \
  } while (0)

static void *
must (void *pointer)
{
  if (!pointer) {
    perror ("test-api");
    exit (1);
  }
  return pointer;
}

static void
check_hex (int line, const char *expected, const unsigned char *md,
           unsigned len)
{
  char hex[2 * BLKHASH_MAX_MD_SIZE + 1] = "";
  unsigned i;

  for (i = 0; i < len; i++)
    sprintf (hex + 2 * i, "%02x", md[i]);
  check_at (line, strcmp (expected, hex) == 0, "expected %s, got %s",
            expected, hex);
}

/* Finish and free H, and compare. */
static void
check_final (int line, const char *expected, struct blkhash *h)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len = 0;
  int err = blkhash_final (h, md, &len);

  check_at (line, err == 0, "blkhash_final: %d", err);
  if (err == 0)
    check_hex (line, expected, md, len);
  blkhash_free (h);
}

#define CHECK_FINAL(expected, h) check_final (__LINE__, expected, h)

static struct blkhash_opts *
new_opts (const char *digest, uint32_t block_size, unsigned streams,
          unsigned threads, unsigned queue_depth)
{
  struct blkhash_opts *opts = must (blkhash_opts_new (digest));

  CHECK_INT (0, blkhash_opts_set_block_size (opts, block_size));
  CHECK_INT (0, blkhash_opts_set_streams (opts, streams));
  CHECK_INT (0, blkhash_opts_set_threads (opts, threads));
  CHECK_INT (0, blkhash_opts_set_queue_depth (opts, queue_depth));
  return opts;
}

static struct blkhash *
new_hash (const char *digest, unsigned streams, unsigned threads,
          unsigned queue_depth)
{
  struct blkhash_opts *opts = new_opts (digest, BLOCK, streams, threads,
                                        queue_depth);
  struct blkhash *h = must (blkhash_new_opts (opts));

  blkhash_opts_free (opts);
  return h;
}

/* Resident memory of this process, in bytes; 0 if it is unknown, or not that of
 * the library.  Since Linux 6.2 statm is imprecise by some pages for each CPU;
 * smaps_rollup is exact.
 */
static size_t
resident (void)
{
  char line[256];
  size_t kib = 0;
  FILE *file;

  if (getenv ("BLKHASH_NO_RSS"))
    return 0;
  file = fopen ("/proc/self/smaps_rollup", "r");
  if (!file)
    return 0;
  while (kib == 0 && fgets (line, sizeof line, file))
    sscanf (line, "Rss: %zu", &kib);
  fclose (file);
  return kib * KiB;
}

/* Disable transparent huge pages, which make resident memory larger than what
 * the library uses.
 */
static void
disable_huge_pages (void)
{
#ifdef PR_SET_THP_DISABLE
  prctl (PR_SET_THP_DISABLE, 1, 0, 0, 0);
#endif
}

/* The peak of resident memory.  Linux counts it in KiB. */
static size_t
peak_resident (void)
{
  struct rusage usage;

  if (resident () == 0 || getrusage (RUSAGE_SELF, &usage) == -1)
    return 0;
  return usage.ru_maxrss * KiB;
}

/* ---- Options and digests ---- */

static void
test_opts (void)
{
  struct blkhash_opts *opts;

  CHECK_ERRNO (EINVAL, blkhash_opts_new ("unknown") == NULL);
  CHECK_ERRNO (EINVAL, blkhash_opts_new ("") == NULL);
  CHECK_ERRNO (EINVAL, blkhash_opts_new ("KECCAK-KMAC-128") == NULL);
  CHECK_ERRNO (EINVAL, blkhash_opts_new ("sha256 ") == NULL);
  blkhash_opts_free (NULL);

  opts = must (blkhash_opts_new ("sha256"));
  CHECK_INT (0, strcmp (blkhash_opts_get_digest_name (opts), "sha256"));
  CHECK_INT (BLOCK, blkhash_opts_get_block_size (opts));
  CHECK_INT (0, blkhash_opts_get_queue_depth (opts));
  CHECK_INT (0, blkhash_opts_get_streams (opts));
  CHECK (blkhash_opts_get_threads (opts) >= 1);
  CHECK (blkhash_opts_get_threads (opts) <= 16);

  CHECK_INT (EINVAL, blkhash_opts_set_block_size (opts, 0));
  CHECK_INT (EINVAL, blkhash_opts_set_block_size (opts, 1));
  CHECK_INT (EINVAL, blkhash_opts_set_block_size (opts, 2));
  CHECK_INT (EINVAL, blkhash_opts_set_block_size (opts, 6));
  CHECK_INT (EINVAL, blkhash_opts_set_block_size (opts, BLOCK + 1));
  CHECK_INT (EINVAL, blkhash_opts_set_block_size (opts, 32 * MiB));
  CHECK_INT (EINVAL, blkhash_opts_set_block_size (opts, 1u << 31));
  CHECK_INT (BLOCK, blkhash_opts_get_block_size (opts));
  CHECK_INT (0, blkhash_opts_set_block_size (opts, 4));
  CHECK_INT (4, blkhash_opts_get_block_size (opts));
  CHECK_INT (0, blkhash_opts_set_block_size (opts, 16 * MiB));
  CHECK_INT (16 * MiB, blkhash_opts_get_block_size (opts));

  CHECK_INT (0, blkhash_opts_set_threads (opts, 1));
  CHECK_INT (0, blkhash_opts_set_threads (opts, 128));
  CHECK_INT (EINVAL, blkhash_opts_set_threads (opts, 0));
  CHECK_INT (EINVAL, blkhash_opts_set_threads (opts, 129));
  CHECK_INT (EINVAL, blkhash_opts_set_threads (opts, 255));
  CHECK_INT (128, blkhash_opts_get_threads (opts));

  CHECK_INT (0, blkhash_opts_set_queue_depth (opts, 65536));
  CHECK_INT (EINVAL, blkhash_opts_set_queue_depth (opts, 65537));
  CHECK_INT (EINVAL, blkhash_opts_set_queue_depth (opts, UINT32_MAX));
  CHECK_INT (65536, blkhash_opts_get_queue_depth (opts));
  CHECK_INT (0, blkhash_opts_set_queue_depth (opts, 0));

  CHECK_INT (0, blkhash_opts_set_streams (opts, 1));
  CHECK_INT (0, blkhash_opts_set_streams (opts, 1024));
  CHECK_INT (EINVAL, blkhash_opts_set_streams (opts, 1025));
  CHECK_INT (EINVAL, blkhash_opts_set_streams (opts, UINT32_MAX));
  CHECK_INT (1024, blkhash_opts_get_streams (opts));
  blkhash_opts_free (opts);
}

/* Of streams and linear, the last one is effective. */
static void
test_linear (void)
{
  struct blkhash_opts *opts = must (blkhash_opts_new ("sha256"));

  CHECK_INT (0, blkhash_opts_get_linear (opts));
  CHECK_INT (EINVAL, blkhash_opts_set_linear (opts, 2));
  CHECK_INT (EINVAL, blkhash_opts_set_linear (opts, -1));
  CHECK_INT (0, blkhash_opts_get_linear (opts));
  CHECK_INT (0, blkhash_opts_set_streams (opts, 3));
  CHECK_INT (0, blkhash_opts_set_linear (opts, 0));
  CHECK_INT (3, blkhash_opts_get_streams (opts));
  CHECK_INT (0, blkhash_opts_set_linear (opts, 1));
  CHECK_INT (1, blkhash_opts_get_linear (opts));
  CHECK_INT (0, blkhash_opts_get_streams (opts));
  CHECK_INT (EINVAL, blkhash_opts_set_streams (opts, 1025));
  CHECK_INT (1, blkhash_opts_get_linear (opts));
  CHECK_INT (0, blkhash_opts_set_streams (opts, 3));
  CHECK_INT (0, blkhash_opts_get_linear (opts));
  CHECK_INT (3, blkhash_opts_get_streams (opts));
  CHECK_INT (0, blkhash_opts_set_linear (opts, 1));
  CHECK_INT (0, blkhash_opts_set_streams (opts, 0));
  CHECK_INT (0, blkhash_opts_get_linear (opts));
  blkhash_opts_free (opts);
}

/* The name is copied, accepted in any case, and returned as it is listed. */
static void
test_digest_name (void)
{
  char name[] = "SHA2-512";
  struct blkhash_opts *opts = must (blkhash_opts_new (name));

  memset (name, 'x', sizeof name - 1);
  CHECK_INT (0, strcmp (blkhash_opts_get_digest_name (opts), "sha512"));
  blkhash_opts_free (opts);
}

static void
test_version (void)
{
  char version[64];

  sprintf (version, "%d.%d.%d", BLKHASH_VERSION_MAJOR, BLKHASH_VERSION_MINOR,
           BLKHASH_VERSION_MICRO);
  CHECK_INT (0, strcmp (version, blkhash_version ()));
}

static void
check_tag (int line, const char *expected, const struct blkhash_opts *opts)
{
  char tag[BLKHASH_MAX_TAG_SIZE] = "";
  int err = blkhash_opts_get_tag (opts, tag, sizeof tag);

  check_at (line, err == 0 && strcmp (expected, tag) == 0,
            "expected %s, got %s", expected, tag);
}

/* A copy has all options, and is independent. */
static void
test_copy (void)
{
  struct blkhash_opts *opts = new_opts ("sha512", 4 * KiB, 3, 7, 5);
  struct blkhash_opts *copy = must (blkhash_opts_copy (opts));
  struct blkhash_opts *defaults = must (blkhash_opts_copy (NULL));

  CHECK_INT (0, blkhash_opts_set_block_size (opts, 8 * KiB));
  CHECK_INT (0, blkhash_opts_set_linear (opts, 1));
  CHECK_INT (0, blkhash_opts_set_threads (opts, 1));
  blkhash_opts_free (opts);
  CHECK_INT (7, blkhash_opts_get_threads (copy));
  CHECK_INT (5, blkhash_opts_get_queue_depth (copy));
  CHECK_INT (64, blkhash_opts_get_digest_size (copy));
  check_tag (__LINE__, "blk-sha512/4k/s3", copy);
  CHECK_INT (32, blkhash_opts_get_digest_size (defaults));
  check_tag (__LINE__, "blk-sha256/64k", defaults);
  blkhash_opts_free (copy);
  blkhash_opts_free (defaults);
}

/* Fields that do not change the hash are ignored. */
static void
test_same_hash (void)
{
  struct blkhash_opts *a = new_opts ("sha256", BLOCK, 0, 1, 0);
  struct blkhash_opts *b = new_opts ("SHA2-256", BLOCK, 0, 9, 7);
  struct blkhash_opts *other = new_opts ("sha512-256", BLOCK, 0, 1, 0);

  CHECK_INT (1, blkhash_opts_same_hash (a, a));
  CHECK_INT (1, blkhash_opts_same_hash (a, b));
  CHECK_INT (0, blkhash_opts_same_hash (a, other));
  CHECK_INT (0, blkhash_opts_set_block_size (b, BLOCK / 2));
  CHECK_INT (0, blkhash_opts_same_hash (a, b));
  CHECK_INT (0, blkhash_opts_set_block_size (b, BLOCK));
  CHECK_INT (0, blkhash_opts_set_streams (b, 1));
  CHECK_INT (0, blkhash_opts_same_hash (a, b));
  CHECK_INT (0, blkhash_opts_set_linear (b, 1));
  CHECK_INT (0, blkhash_opts_same_hash (a, b));
  CHECK_INT (0, blkhash_opts_set_linear (a, 1));
  CHECK_INT (1, blkhash_opts_same_hash (a, b));
  blkhash_opts_free (a);
  blkhash_opts_free (b);
  blkhash_opts_free (other);
}

/* lib/construction/test-opts-tag.c tests other spellings. */
static void
test_tag (void)
{
  const char *text = "blk-sha256/64k/s1024";
  struct blkhash_opts *opts = must (blkhash_opts_from_tag (text));
  char tag[BLKHASH_MAX_TAG_SIZE];

  check_tag (__LINE__, text, opts);
  CHECK_INT (1024, blkhash_opts_get_streams (opts));
  CHECK_INT (0, blkhash_opts_get_tag (opts, tag, strlen (text) + 1));
  memset (tag, 'x', sizeof tag);
  CHECK_INT (ERANGE, blkhash_opts_get_tag (opts, tag, strlen (text)));
  CHECK_INT (0, strcmp (tag, "blk-sha256/64k/s102"));
  CHECK_INT ('x', tag[strlen (text)]);
  CHECK_INT (ERANGE, blkhash_opts_get_tag (opts, NULL, 0));
  blkhash_opts_free (opts);
  CHECK_ERRNO (EINVAL, blkhash_opts_from_tag (NULL) == NULL);
  CHECK_ERRNO (EINVAL, blkhash_opts_from_tag ("sha256/64k") == NULL);
  CHECK_ERRNO (EINVAL, blkhash_opts_from_tag ("blk-sha257/64k") == NULL);
}

/* The longest tag of each digest fits, and is parsed. */
static void
check_longest_tag (struct blkhash_opts *opts)
{
  char tag[BLKHASH_MAX_TAG_SIZE];
  struct blkhash_opts *again;

  CHECK_INT (0, blkhash_opts_set_block_size (opts, 512 * KiB));
  CHECK_INT (0, blkhash_opts_set_linear (opts, 1));
  CHECK_INT (0, blkhash_opts_get_tag (opts, tag, sizeof tag));
  again = must (blkhash_opts_from_tag (tag));
  CHECK_INT (1, blkhash_opts_same_hash (opts, again));
  blkhash_opts_free (again);
}

/* A spec is what blksum --digest accepts; only defaults are added. */
static void
test_spec (void)
{
  struct blkhash_opts *opts = must (blkhash_opts_from_spec ("BLK-MD5/4K/S3"));

  check_tag (__LINE__, "blk-md5/4k/s3", opts);
  blkhash_opts_free (opts);
  opts = must (blkhash_opts_from_spec ("sha512"));
  check_tag (__LINE__, "blk-sha512/64k", opts);
  CHECK_INT (0, blkhash_opts_get_queue_depth (opts));
  CHECK (blkhash_opts_get_threads (opts) >= 1);
  blkhash_opts_free (opts);
  CHECK_ERRNO (EINVAL, blkhash_opts_from_spec (NULL) == NULL);
  CHECK_ERRNO (EINVAL, blkhash_opts_from_spec ("sha256/64k/") == NULL);
  CHECK_ERRNO (EINVAL, blkhash_opts_from_spec ("sha257") == NULL);
  CHECK_ERRNO (EINVAL, blkhash_opts_from_spec ("sha256/5000") == NULL);
}

static void
test_sum_parse (void)
{
  static const char hex[] =
    "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";
  char line[256], reason[BLKHASH_MAX_REASON_SIZE], *name;
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_opts *opts;
  unsigned len;

  sprintf (line, "\\blk-sha256/4k/s3 (a\\nb) = %s\n", hex);
  CHECK_INT (0, blkhash_sum_parse (line, &opts, md, &len, &name, reason,
                                   sizeof reason));
  check_tag (__LINE__, "blk-sha256/4k/s3", opts);
  CHECK_INT (32, len);
  CHECK (md[0] == 0 && md[1] == 0x11 && md[31] == 0xff);
  CHECK_INT (0, strcmp (name, "a\nb"));
  free (name);
  blkhash_opts_free (opts);

  CHECK_INT (0, blkhash_sum_parse (hex, &opts, md, &len, &name, NULL, 0));
  CHECK (opts == NULL && name == NULL && len == 32);

  CHECK_INT (EINVAL, blkhash_sum_parse (hex + 1, &opts, md, NULL, &name, reason,
                                        sizeof reason));
  CHECK_INT (0, strcmp (reason, "no sum has 63 digits"));
  sprintf (line, "blk-sha512/64k:%s", hex);
  CHECK_INT (EINVAL, blkhash_sum_parse (line, &opts, md, &len, NULL, reason,
                                        sizeof reason));
  CHECK_INT (0, strcmp (reason,
                        "it has 64 digits, but sha512 sums have 128"));
  CHECK (opts == NULL);
  CHECK_INT (EINVAL, blkhash_sum_parse ("", &opts, md, &len, NULL, NULL, 0));
}

static void
test_digests (void)
{
  size_t i, count = blkhash_digests (NULL, 0);
  const char **names = must (calloc (count + 1, sizeof *names));
  const char *few[3] = { NULL, NULL, "untouched" };
  bool null = false, sha256 = false; /* they are in every build */

  CHECK (count >= 12);
  CHECK_INT (count, blkhash_digests (names, count + 1));
  CHECK (names[count] == NULL);
  CHECK_INT (count, blkhash_digests (few, 2));
  CHECK_INT (0, strcmp (few[0], names[0]));
  CHECK_INT (0, strcmp (few[1], names[1]));
  CHECK_INT (0, strcmp (few[2], "untouched"));

  for (i = 0; i < count; i++) {
    struct blkhash_opts *opts = must (blkhash_opts_new (names[i]));
    struct blkhash *h = must (blkhash_new_opts (opts));
    struct blkhash_leaves *l = must (blkhash_leaves_new (opts, 3, 0));
    unsigned char md[BLKHASH_MAX_MD_SIZE + 1], leaves_md[sizeof md];
    unsigned len = 99, leaves_len = 99, j;

    CHECK (i == 0 || strcmp (names[i - 1], names[i]) < 0);
    null |= strcmp (names[i], "null") == 0;
    sha256 |= strcmp (names[i], "sha256") == 0;
    CHECK_INT (0, strcmp (names[i], blkhash_opts_get_digest_name (opts)));
    memset (md, 0xa5, sizeof md);
    CHECK_INT (0, blkhash_update (h, "abc", 3));
    CHECK_INT (0, blkhash_final (h, md, &len));
    CHECK_INT (len, blkhash_opts_get_digest_size (opts));
    if (strcmp (names[i], "null") == 0)
      CHECK_INT (0, len);
    else
      check_at (__LINE__, len >= 8 && len <= BLKHASH_MAX_MD_SIZE,
                "%s: length %u", names[i], len);
    /* Nothing is stored after the digest. */
    for (j = len; j < sizeof md; j++)
      CHECK_INT (0xa5, md[j]);
    CHECK_INT (0, blkhash_leaves_data (l, "abc", 3, 0));
    CHECK_INT (0, blkhash_leaves_fold (l, leaves_md, &leaves_len));
    check_at (__LINE__, len == leaves_len && memcmp (md, leaves_md, len) == 0,
              "%s: the leaf table has another digest", names[i]);
    check_longest_tag (opts);
    blkhash_leaves_free (l);
    blkhash_free (h);
    blkhash_opts_free (opts);
  }
  CHECK (null && sha256);
  free (names);
}

/* ---- Streaming ---- */

#define HELLO "337355feb53a5309d5aba92796223c2c84ffab930e706c01fef573a2722545e6"
#define EMPTY "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc"
#define MIB_55 "2a6d5ed17da97865da0fd3ca9a792f3bfaf325940c44fd6a2f0a224a051eb6f0"

static void
test_known_answers (void)
{
  unsigned char *data = must (malloc (MiB));
  struct blkhash *h;
  unsigned threads;

  CHECK_FINAL (EMPTY, must (blkhash_new ()));
  CHECK_FINAL (EMPTY, must (blkhash_new_opts (NULL)));

  h = must (blkhash_new ());
  CHECK_INT (0, blkhash_update (h, "hello", 5));
  CHECK_FINAL (HELLO, h);

  h = new_hash ("md5", 0, 2, 0);
  CHECK_INT (0, blkhash_update (h, "hello", 5));
  CHECK_FINAL ("f741ac9ce55f5325906bb14e9c05d467", h);

  memset (data, 0x55, MiB);
  for (threads = 1; threads <= 64; threads++) {
    h = new_hash ("sha256", 64, threads, 0);
    CHECK_INT (0, blkhash_update (h, data, MiB));
    CHECK_FINAL (MIB_55, h);
  }
  free (data);
}

/* Zeros have the same hash, however they are given and divided. */
static void
test_zero (void)
{
  unsigned char *zeros = must (calloc (1, 3 * MiB));
  unsigned char md[2][BLKHASH_MAX_MD_SIZE];
  struct blkhash *a = must (blkhash_new ()), *b = must (blkhash_new ());
  size_t done = 0, step = 1;

  CHECK_INT (0, blkhash_update (a, zeros, 3 * MiB));
  while (done < 3 * MiB) {
    size_t len = step < 3 * MiB - done ? step : 3 * MiB - done;

    CHECK_INT (0, step % 2 ? blkhash_zero (b, len)
                           : blkhash_update (b, zeros, len));
    CHECK_INT (0, blkhash_zero (b, 0));
    CHECK_INT (0, blkhash_update (b, NULL, 0));
    done += len;
    step = step * 3 + 1;
  }
  CHECK_INT (0, blkhash_final (a, md[0], NULL));
  CHECK_INT (0, blkhash_final (b, md[1], NULL));
  CHECK (memcmp (md[0], md[1], 32) == 0);
  blkhash_free (a);
  blkhash_free (b);
  free (zeros);
}

static void
test_after_final (void)
{
  struct blkhash *h = new_hash ("sha256", 0, 2, 4);
  unsigned char md[BLKHASH_MAX_MD_SIZE], again[BLKHASH_MAX_MD_SIZE];
  struct blkhash_completion done;
  unsigned len = 77;

  CHECK_INT (0, blkhash_update (h, "hello", 5));
  CHECK_INT (0, blkhash_final (h, md, NULL));
  memset (again, 0xa5, sizeof again);
  CHECK_INT (EINVAL, blkhash_final (h, again, &len));
  CHECK_INT (77, len);
  CHECK_INT (0xa5, again[0]);
  CHECK_INT (EINVAL, blkhash_update (h, "hello", 5));
  CHECK_INT (EINVAL, blkhash_update (h, NULL, 0));
  CHECK_INT (EINVAL, blkhash_zero (h, 5));
  CHECK_INT (EINVAL, blkhash_zero (h, 0));
  CHECK_INT (EINVAL, blkhash_aio_update (h, "hello", 5, NULL));
  CHECK_INT (-EINVAL, blkhash_aio_completions (h, &done, 1));
  blkhash_free (h);
}

/* The maximum size, and one byte more: that error sticks.  With a size_t of 32
 * bits this would take calls for years.
 */
static void
test_overflow (void)
{
#if SIZE_MAX == UINT64_MAX
  struct blkhash_opts *opts = new_opts ("null", 16 * MiB, 1, 1, 1);
  struct blkhash *h = must (blkhash_new_opts (opts));
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  CHECK_INT (0, blkhash_zero (h, SIZE_MAX / 2 + 1));
  CHECK_INT (0, blkhash_zero (h, SIZE_MAX / 2));
  CHECK_INT (0, blkhash_update (h, NULL, 0));
  CHECK_INT (0, blkhash_zero (h, 0));
  CHECK_INT (EOVERFLOW, blkhash_update (h, "x", 1));
  CHECK_INT (EOVERFLOW, blkhash_zero (h, 0));
  CHECK_INT (EOVERFLOW, blkhash_update (h, NULL, 0));
  CHECK_INT (EOVERFLOW, blkhash_aio_update (h, "x", 1, NULL));
  CHECK_INT (EOVERFLOW, blkhash_final (h, md, NULL));
  blkhash_free (h);
  blkhash_opts_free (opts);
#endif
}

/* Bytes that an update refused are missing in the image: blkhash_final must
 * fail, and not return the hash of the rest, if the caller checks only its
 * result.
 */
static void
test_no_buffer (void)
{
  struct blkhash *h = must (blkhash_new ());
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len = 77;

  CHECK_INT (0, blkhash_update (h, NULL, 0));
  CHECK_INT (0, blkhash_update (h, "hello", 5));
  CHECK_INT (EINVAL, blkhash_update (h, NULL, 1));
  CHECK_INT (EINVAL, blkhash_update (h, "hello", 5));
  CHECK_INT (EINVAL, blkhash_zero (h, 1));
  memset (md, 0xa5, sizeof md);
  CHECK_INT (EINVAL, blkhash_final (h, md, &len));
  CHECK_INT (77, len);
  CHECK_INT (0xa5, md[0]);
  blkhash_free (h);

  h = new_hash ("sha256", 0, 2, 4);
  CHECK_INT (0, blkhash_update (h, "hello", 5));
  CHECK_INT (EINVAL, blkhash_aio_update (h, NULL, 1, NULL));
  CHECK_INT (EINVAL, blkhash_aio_update (h, "hello", 5, NULL));
  CHECK_INT (EINVAL, blkhash_final (h, md, NULL));
  blkhash_free (h);
}

static void
test_free (void)
{
  struct blkhash *h = must (blkhash_new ());
  struct blkhash_leaves *l = must (blkhash_leaves_new (NULL, 5, 0));

  errno = ESTALE;
  blkhash_free (NULL);
  blkhash_leaves_free (NULL);
  blkhash_free (h);
  CHECK_INT (ESTALE, errno);
  blkhash_leaves_free (l);
  CHECK_INT (ESTALE, errno);
}

/* ---- Asynchronous calls ---- */

static void
test_aio_disabled (void)
{
  struct blkhash *h = must (blkhash_new ());
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_completion done;

  /* This call does no harm. */
  CHECK_INT (-ENOTSUP, blkhash_aio_completions (h, &done, 1));
  CHECK_ERRNO (ENOTSUP, blkhash_aio_completion_fd (h) == -1);
  CHECK_INT (0, blkhash_update (h, "hello", 5));
  CHECK_FINAL (HELLO, h);

  h = must (blkhash_new ());
  CHECK_INT (ENOTSUP, blkhash_aio_update (h, "hello", 5, NULL));
  CHECK_INT (ENOTSUP, blkhash_update (h, "hello", 5));
  CHECK_INT (ENOTSUP, blkhash_final (h, md, NULL));
  blkhash_free (h);
}

/* Only asynchronous calls need a descriptor. */
static void
test_no_descriptors (void)
{
  struct blkhash_opts *opts = new_opts ("sha256", BLOCK, 0, 2, 4);
  struct rlimit old, none;
  struct blkhash *h;

  CHECK_INT (0, getrlimit (RLIMIT_NOFILE, &old));
  none = old;
  none.rlim_cur = 0;
  CHECK_INT (0, setrlimit (RLIMIT_NOFILE, &none));
  CHECK_ERRNO (EMFILE, blkhash_new_opts (opts) == NULL);
  h = must (blkhash_new ());
  CHECK_INT (0, blkhash_update (h, "hello", 5));
  CHECK_FINAL (HELLO, h);
  CHECK_INT (0, setrlimit (RLIMIT_NOFILE, &old));
  blkhash_opts_free (opts);
}

/* Wait for completions and reap them; returns how many. */
static int
wait_and_reap (struct blkhash *h, struct blkhash_completion *done,
               unsigned count)
{
  struct pollfd poll_fd = {
    .fd = blkhash_aio_completion_fd (h), .events = POLLIN
  };
  char drain[8];

  if (poll (&poll_fd, 1, POLL_TIMEOUT) != 1) {
    check_at (__LINE__, false, "no completion came");
    exit (1);
  }
  CHECK (read (poll_fd.fd, drain, sizeof drain) > 0);
  return blkhash_aio_completions (h, done, count);
}

static void
test_aio_depth (void)
{
  enum { DEPTH = 3 };
  struct blkhash *h = new_hash ("sha256", 64, 2, DEPTH);
  unsigned char *data = must (malloc (MiB));
  struct blkhash_completion done[DEPTH + 1];
  int fd = blkhash_aio_completion_fd (h);
  bool seen[16] = { false };
  int submitted, reaped = 0, i, n;
  char drain[8];

  memset (data, 0x55, MiB);
  CHECK (fd >= 0);
  CHECK (fcntl (fd, F_GETFL) & O_NONBLOCK);
  CHECK (fcntl (fd, F_GETFD) & FD_CLOEXEC);
  CHECK_ERRNO (EAGAIN, read (fd, drain, sizeof drain) == -1);
  CHECK_INT (0, blkhash_aio_completions (h, done, DEPTH));

  for (submitted = 0; submitted < DEPTH; submitted++)
    CHECK_INT (0, blkhash_aio_update (h, data + submitted * BLOCK, BLOCK,
                                      &seen[submitted]));
  CHECK_INT (EAGAIN, blkhash_aio_update (h, data, BLOCK, NULL));
  CHECK_INT (EAGAIN, blkhash_aio_update (h, data, BLOCK, NULL));

  while (reaped < 16) {
    n = wait_and_reap (h, done, DEPTH + 1);
    CHECK (n >= 0 && n <= DEPTH);
    for (i = 0; i < n; i++) {
      bool *which = done[i].user_data;

      CHECK_INT (0, done[i].error);
      CHECK (which >= seen && which < seen + 16 && !*which);
      *which = true;
      reaped++;
      if (submitted < 16) {
        CHECK_INT (0, blkhash_aio_update (h, data + submitted * BLOCK, BLOCK,
                                          &seen[submitted]));
        submitted++;
      }
    }
  }
  CHECK_FINAL (MIB_55, h);
  free (data);
}

/* The three functions append in the order of their calls, and final waits. */
static void
test_aio_mixed (void)
{
  unsigned char *data = must (malloc (4 * MiB));
  unsigned char md[2][BLKHASH_MAX_MD_SIZE];
  struct blkhash *a = new_hash ("sha256", 0, 3, 64);
  struct blkhash *b = new_hash ("sha256", 0, 1, 0);
  size_t done = 0, i;

  for (i = 0; i < 4 * MiB; i++)
    data[i] = i * 7 >> 9;
  for (i = 0; done < 4 * MiB; i++) {
    size_t len = i * 12345 % 200000;

    if (len > 4 * MiB - done)
      len = 4 * MiB - done;
    switch (i % 3) {
    case 0:
      CHECK_INT (0, blkhash_aio_update (a, data + done, len, NULL));
      CHECK_INT (0, blkhash_update (b, data + done, len));
      break;
    case 1:
      CHECK_INT (0, blkhash_update (a, data + done, len));
      CHECK_INT (0, blkhash_update (b, data + done, len));
      break;
    case 2:
      CHECK_INT (0, blkhash_zero (a, len));
      CHECK_INT (0, blkhash_zero (b, len));
      break;
    }
    done += len;
  }
  CHECK_INT (0, blkhash_final (a, md[0], NULL));
  CHECK_INT (0, blkhash_final (b, md[1], NULL));
  CHECK (memcmp (md[0], md[1], 32) == 0);
  blkhash_free (a);
  blkhash_free (b);
  free (data);
}

/* A request of 0 bytes, and one that ends inside of a block, complete although
 * nothing is appended after them.
 */
static void
test_aio_short (void)
{
  struct blkhash *h = new_hash ("sha256", 0, 2, 8);
  struct blkhash_completion done[8];
  int reaped = 0;

  CHECK_INT (0, blkhash_aio_update (h, "hel", 3, NULL));
  CHECK_INT (0, blkhash_aio_update (h, NULL, 0, NULL));
  CHECK_INT (0, blkhash_aio_update (h, "lo", 2, NULL));
  CHECK_INT (0, blkhash_aio_completions (h, NULL, 0));
  while (reaped < 3) {
    int n = wait_and_reap (h, done, 8);

    CHECK (n >= 0);
    reaped += n;
  }
  CHECK_FINAL (HELLO, h);
}

/* Free at any moment: when it returns, buffers belong to the caller. */
static void
test_free_in_flight (void)
{
  const unsigned rounds = getenv ("BLKHASH_SHORT") ? 60 : 400;
  unsigned char *bufs[16];
  unsigned round, i, seed = 1;

  for (round = 0; round < rounds; round++) {
    unsigned threads = 1 + round % 5;
    struct blkhash *h = new_hash ("sha256", round % 2 ? 0 : 64, threads, 16);
    unsigned count = rand_r (&seed) % 16;
    struct blkhash_completion done[16];

    for (i = 0; i < count; i++) {
      size_t len = 1 + rand_r (&seed) % (512 * KiB);

      bufs[i] = must (malloc (len));
      memset (bufs[i], rand_r (&seed), len);
      CHECK_INT (0, blkhash_aio_update (h, bufs[i], len, bufs[i]));
      if (rand_r (&seed) % 4 == 0)
        CHECK_INT (0, blkhash_zero (h, rand_r (&seed) % MiB));
    }
    if (rand_r (&seed) % 2)
      CHECK (blkhash_aio_completions (h, done, 16) >= 0);
    if (rand_r (&seed) % 2)
      usleep (rand_r (&seed) % 500);
    blkhash_free (h);
    for (i = 0; i < count; i++)
      free (bufs[i]);
  }
}

/* A copy loop with poll, as written for the first version of the API. */
static void
test_upstream_style (void)
{
  enum { REQUESTS = 4, SIZE = 256 * KiB };
  struct blkhash_opts *opts = must (blkhash_opts_new ("sha256"));
  unsigned char *bufs = must (malloc (REQUESTS * SIZE));
  struct blkhash_completion done[REQUESTS];
  unsigned char *idle[REQUESTS];
  unsigned i, nr_idle = REQUESTS, left = 4;
  struct blkhash *h;

  CHECK_INT (0, blkhash_opts_set_queue_depth (opts, REQUESTS));
  CHECK_INT (0, blkhash_opts_set_streams (opts, 64));
  h = must (blkhash_new_opts (opts));
  blkhash_opts_free (opts);
  for (i = 0; i < REQUESTS; i++)
    idle[i] = bufs + i * SIZE;

  while (left > 0 || nr_idle < REQUESTS) {
    int n, j;

    while (left > 0 && nr_idle > 0) {
      unsigned char *buf = idle[--nr_idle];

      memset (buf, 0x55, SIZE);
      CHECK_INT (0, blkhash_aio_update (h, buf, SIZE, buf));
      left--;
    }
    n = wait_and_reap (h, done, REQUESTS);
    CHECK (n >= 0);
    for (j = 0; j < n; j++)
      idle[nr_idle++] = done[j].user_data;
  }
  CHECK_FINAL (MIB_55, h);
  free (bufs);
}

/* ---- The leaf table ---- */

static void
check_fold (int line, const char *expected, struct blkhash_leaves *l)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len = 0;
  int err = blkhash_leaves_fold (l, md, &len);

  check_at (line, err == 0, "blkhash_leaves_fold: %d", err);
  if (err == 0)
    check_hex (line, expected, md, len);
}

#define CHECK_FOLD(expected, l) check_fold (__LINE__, expected, l)

static void
check_missing (int line, struct blkhash_leaves *l, uint64_t offset,
               uint64_t start, uint64_t len)
{
  uint64_t got_start = 0, got_len = 0;
  int err = blkhash_leaves_next_missing (l, offset, &got_start, &got_len);

  if (len == 0)
    check_at (line, err == ENOENT, "missing: expected ENOENT, got %d", err);
  else
    check_at (line, err == 0 && got_start == start && got_len == len,
              "missing: expected %" PRIu64 "+%" PRIu64 ", got %d, %" PRIu64
              "+%" PRIu64, start, len, err, got_start, got_len);
}

#define CHECK_MISSING(l, offset, start, len) \
  check_missing (__LINE__, l, offset, start, len)
#define CHECK_NOTHING_MISSING(l) check_missing (__LINE__, l, 0, 0, 0)

static void
test_leaves_errors (void)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_leaves *l;
  unsigned len = 77;

  CHECK_ERRNO (EINVAL, blkhash_leaves_new (NULL, 5, 2) == NULL);
  CHECK_ERRNO (EINVAL, blkhash_leaves_new (NULL, 5, ~0u) == NULL);

  l = must (blkhash_leaves_new (NULL, 5, 0));
  CHECK_INT (EINVAL, blkhash_leaves_data (l, "hello!", 6, 0));
  CHECK_INT (EINVAL, blkhash_leaves_data (l, "h", 1, 5));
  CHECK_INT (EINVAL, blkhash_leaves_data (l, "h", 1, UINT64_MAX));
  CHECK_INT (EINVAL, blkhash_leaves_zero (l, UINT64_MAX, 1));
  CHECK_INT (EINVAL, blkhash_leaves_zero (l, 0, 6));
  CHECK_INT (EINVAL, blkhash_leaves_forget (l, 6, 0));
  CHECK_INT (EINVAL, blkhash_leaves_forget (l, 2, UINT64_MAX));
  CHECK_INT (0, blkhash_leaves_data (l, NULL, 0, 5));
  CHECK_INT (0, blkhash_leaves_zero (l, 0, 0));
  memset (md, 0xa5, sizeof md);
  CHECK_INT (ENODATA, blkhash_leaves_fold (l, md, &len));
  CHECK_INT (77, len);
  CHECK_INT (0xa5, md[0]);
  CHECK_MISSING (l, 0, 0, 5);
  CHECK_MISSING (l, 5, 0, 0);
  CHECK_MISSING (l, UINT64_MAX, 0, 0);

  /* No error sticks. */
  CHECK_INT (0, blkhash_leaves_data (l, "hello", 5, 0));
  CHECK_FOLD (HELLO, l);
  CHECK_FOLD (HELLO, l);
  blkhash_leaves_free (l);

  l = must (blkhash_leaves_new (NULL, 0, 0));
  CHECK_NOTHING_MISSING (l);
  CHECK_FOLD (EMPTY, l);
  blkhash_leaves_free (l);
}

/* Pieces, overlap, forgetting, and what is missing in between. */
static void
test_leaves_pieces (void)
{
  struct blkhash_leaves *l = must (blkhash_leaves_new (NULL, 5, 0));
  uint64_t data = 0, zero = 0;

  CHECK_INT (0, blkhash_leaves_data (l, "l", 1, 3));
  CHECK_MISSING (l, 0, 0, 3);
  CHECK_MISSING (l, 1, 1, 2);
  CHECK_MISSING (l, 3, 4, 1);
  CHECK_INT (ENODATA, blkhash_leaves_fold (l, (unsigned char[64]) { 0 },
                                           NULL));
  CHECK_INT (0, blkhash_leaves_data (l, "XXX", 3, 0));
  CHECK_INT (0, blkhash_leaves_forget (l, 3, 0));
  CHECK_INT (0, blkhash_leaves_zero (l, 2, 1));
  CHECK_INT (0, blkhash_leaves_data (l, "hel", 3, 0));
  CHECK_INT (0, blkhash_leaves_data (l, "lo", 2, 3));
  CHECK_NOTHING_MISSING (l);
  CHECK_FOLD (HELLO, l);
  blkhash_leaves_count (l, &data, &zero);
  CHECK_INT (5, data);
  CHECK_INT (0, zero);

  /* A part of a complete block: the rest is missing. */
  CHECK_INT (0, blkhash_leaves_data (l, "l", 1, 3));
  CHECK_MISSING (l, 0, 0, 3);
  CHECK_MISSING (l, 3, 4, 1);
  /* A part of a block of zeros: the rest is still zero. */
  CHECK_INT (0, blkhash_leaves_zero (l, 5, 0));
  blkhash_leaves_count (l, &data, &zero);
  CHECK_INT (0, data);
  CHECK_INT (5, zero);
  CHECK_INT (0, blkhash_leaves_data (l, "hel", 3, 0));
  CHECK_NOTHING_MISSING (l);
  /* This is possible until the table is folded. */
  CHECK_INT (0, blkhash_leaves_data (l, "lo", 2, 3));
  CHECK_NOTHING_MISSING (l);
  blkhash_leaves_count (l, &data, &zero);
  CHECK_INT (5, data);
  CHECK_INT (0, zero);
  CHECK_FOLD (HELLO, l);
  CHECK_INT (0, blkhash_leaves_data (l, "l", 1, 3));
  CHECK_MISSING (l, 0, 0, 3);
  CHECK_INT (0, blkhash_leaves_data (l, "hello", 5, 0));
  CHECK_FOLD (HELLO, l);
  blkhash_leaves_free (l);
}

static void
test_leaves_once (void)
{
  struct blkhash_leaves *l;
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  l = must (blkhash_leaves_new (NULL, 5, BLKHASH_LEAVES_ONCE));
  CHECK_INT (0, blkhash_leaves_data (l, "lo", 2, 3));
  CHECK_INT (EEXIST, blkhash_leaves_data (l, "o", 1, 4));
  CHECK_INT (EEXIST, blkhash_leaves_zero (l, 3, 1));
  CHECK_INT (EEXIST, blkhash_leaves_forget (l, 1, 3));
  CHECK_INT (ENODATA, blkhash_leaves_fold (l, md, NULL));
  CHECK_INT (0, blkhash_leaves_data (l, "hel", 3, 0));
  CHECK_INT (EEXIST, blkhash_leaves_data (l, "hello", 5, 0));
  CHECK_FOLD (HELLO, l);
  CHECK_INT (EINVAL, blkhash_leaves_fold (l, md, NULL));
  blkhash_leaves_free (l);
}

/* The memory for an image of the maximum size depends on its known blocks. */
static void
test_leaves_huge (void)
{
  static const uint64_t sizes[] = { INT64_MAX, UINT64_MAX };
  static unsigned char data[3 * BLOCK];
  size_t before = resident ();
  unsigned i, j;

  memset (data, 0x55, sizeof data);
  for (i = 0; i < 2; i++) {
    uint64_t size = sizes[i], step = size / 1000, at = 0, start, len;
    struct blkhash_leaves *l = must (blkhash_leaves_new (NULL, size, 0));
    uint64_t known, zero;

    CHECK_MISSING (l, 0, 0, size);
    CHECK_INT (0, blkhash_leaves_zero (l, size, 0));
    CHECK_NOTHING_MISSING (l);
    blkhash_leaves_count (l, &known, &zero);
    CHECK (zero == size && known == 0);
    CHECK_INT (0, blkhash_leaves_forget (l, size, 0));

    for (j = 0; j < 1000; j++)
      CHECK_INT (0, blkhash_leaves_data (l, data, sizeof data, j * step));
    for (j = 0; blkhash_leaves_next_missing (l, at, &start, &len) == 0; j++) {
      CHECK (start >= at && len > 0 && len <= size - start);
      at = start + len;
    }
    CHECK (j >= 1000 && j <= 4000);
    CHECK_INT (0, blkhash_leaves_zero (l, BLOCK + 1, size - BLOCK - 1));
    CHECK_INT (EINVAL, blkhash_leaves_zero (l, BLOCK + 2, size - BLOCK - 1));
    CHECK_INT (ENODATA, blkhash_leaves_fold (l, data, NULL));
    memset (data, 0x55, sizeof data);
    blkhash_leaves_free (l);
  }
  /* 2000 partial blocks, in 64 MiB. */
  if (before > 0)
    check_at (__LINE__, resident () < before + 100 * MiB,
              "resident memory grew from %zu to %zu", before, resident ());
}

/* Blocks of which one byte is known: the oldest are evicted. */
static void
test_leaves_bound (void)
{
  enum { COUNT = 6000 };        /* of blocks: 375 MiB */
  size_t before = resident ();
  struct blkhash_leaves *l =
    must (blkhash_leaves_new (NULL, (uint64_t) COUNT * BLOCK, 0));
  uint64_t at = 0, start, len, missing = 0;
  unsigned i;

  for (i = 0; i < COUNT; i++)
    CHECK_INT (0, blkhash_leaves_data (l, "x", 1, (uint64_t) i * BLOCK + 7));
  if (before > 0)
    check_at (__LINE__, resident () < before + 96 * MiB,
              "resident memory grew from %zu to %zu", before, resident ());

  while (blkhash_leaves_next_missing (l, at, &start, &len) == 0) {
    missing += len;
    at = start + len;
  }
  CHECK (missing > (uint64_t) COUNT * BLOCK - 1100);
  CHECK (missing < (uint64_t) COUNT * BLOCK - 900);
  CHECK_INT (0, blkhash_leaves_next_missing (l, 0, &start, &len));
  CHECK_INT (0, start);
  CHECK (len > (COUNT - 1100) * (uint64_t) BLOCK);
  blkhash_leaves_free (l);
}

struct giver {
  struct blkhash_leaves *l;
  pthread_mutex_t lock;
  uint64_t next, end;           /* protected by LOCK */
  int error;                    /* likewise */
};

#define GIVEN (4 * MiB)         /* bytes of a call */

/* Each thread gives the next part, as blksum does; every fourth one is zero. */
static void *
give (void *opaque)
{
  struct giver *giver = opaque;
  unsigned char *data = must (malloc (GIVEN));

  memset (data, 0x55, GIVEN);
  for (;;) {
    uint64_t offset;
    int err;

    pthread_mutex_lock (&giver->lock);
    offset = giver->next;
    if (offset < giver->end)
      giver->next += GIVEN;
    pthread_mutex_unlock (&giver->lock);
    if (offset >= giver->end)
      break;
    err = offset / GIVEN % 4 == 3
      ? blkhash_leaves_zero (giver->l, GIVEN, offset)
      : blkhash_leaves_data (giver->l, data, GIVEN, offset);
    if (err) {
      pthread_mutex_lock (&giver->lock);
      giver->error = err;
      pthread_mutex_unlock (&giver->lock);
    }
  }
  free (data);
  return NULL;
}

static int
count_data (void *opaque, uint64_t index, size_t count,
            const unsigned char *leaves, size_t leaf_size)
{
  uint64_t *blocks = opaque;

  (void) leaves;
  CHECK (index == *blocks && leaf_size == 32);
  *blocks += count;
  return 0;
}

static int
count_zero (void *opaque, uint64_t index, uint64_t count)
{
  uint64_t *blocks = opaque;

  CHECK (index == *blocks);
  *blocks += count;
  return 0;
}

/* A large image that is given once, almost in order, takes little memory: its
 * 4 Mi leaves would take 128 MiB.  If a thread is not scheduled for long, the
 * others do not run far ahead.
 */
static void
check_in_order (uint64_t size, struct blkhash_leaves *l)
{
  struct giver giver = { .l = l, .lock = PTHREAD_MUTEX_INITIALIZER };
  size_t before = resident (), most = 0;
  pthread_t threads[4];
  int i;

  while (giver.end < size) {
    giver.end += 32 * MiB;
    for (i = 0; i < 4; i++)
      CHECK_INT (0, pthread_create (&threads[i], NULL, give, &giver));
    for (i = 0; i < 4; i++)
      pthread_join (threads[i], NULL);
    if (resident () > most)
      most = resident ();
  }
  CHECK_INT (0, giver.error);
  if (before > 0)
    check_at (__LINE__, most < before + 64 * MiB,
              "resident memory grew from %zu to %zu", before, most);
}

/* The same if its size is unknown, and its leaves are delivered to a sink. */
static void
test_leaves_in_order (void)
{
  struct blkhash_opts *opts = new_opts ("sha256", 512, 0, 1, 0);
  uint64_t size = (getenv ("BLKHASH_SHORT") ? 1 : 16) * UINT64_C (128) * MiB;
  uint64_t delivered = 0;
  struct blkhash_leaf_sink sink = {
    .data = count_data, .zero = count_zero, .opaque = &delivered
  };
  unsigned char md[BLKHASH_MAX_MD_SIZE], other_md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_leaves *l;

  l = must (blkhash_leaves_new (opts, size, BLKHASH_LEAVES_ONCE));
  check_in_order (size, l);
  CHECK_NOTHING_MISSING (l);
  CHECK_INT (0, blkhash_leaves_fold (l, md, NULL));
  blkhash_leaves_free (l);

  l = must (blkhash_leaves_new (opts, BLKHASH_SIZE_UNKNOWN,
                                BLKHASH_LEAVES_ONCE));
  CHECK_INT (0, blkhash_leaves_set_sink (l, &sink));
  check_in_order (size, l);
  CHECK_INT (ENODATA, blkhash_leaves_fold (l, other_md, NULL));
  CHECK_INT (0, blkhash_leaves_set_size (l, size));
  CHECK_NOTHING_MISSING (l);
  CHECK_INT (0, blkhash_leaves_fold (l, other_md, NULL));
  CHECK_INT (0, memcmp (md, other_md, 32));
  CHECK (delivered == size / 512);
  blkhash_leaves_free (l);
  blkhash_opts_free (opts);
}

/* ---- Tests with a process for each ---- */

/* Threads fill the memory for partial blocks, one after the other, and malloc
 * has an arena for each: see test-api.sh.  The first threads leave partial
 * blocks to the next ones; later threads complete their blocks, so that none is
 * kept.
 */
struct filler {
  struct blkhash_leaves *l;
  unsigned number;
  const unsigned char *data;
};

#define FILL 1100               /* blocks: more than there is memory for */
#define KEPT 900                /* of these, at least so many are kept */
#define FILLERS 24

static sem_t turn_ended, all_ended; /* threads keep their arenas until then */

static void *
fill_pieces (void *opaque)
{
  const struct filler *filler = opaque;
  uint64_t block = (uint64_t) filler->number * FILL;
  unsigned i;

  for (i = 0; i < FILL; i++)
    CHECK_INT (0, blkhash_leaves_data (filler->l, filler->data, BLOCK - 1,
                                       (block + i) * BLOCK));
  if (filler->number >= FILLERS / 2) {
    for (i = FILL - KEPT; i < FILL; i++)
      CHECK_INT (0, blkhash_leaves_data (filler->l, filler->data, 1,
                                         (block + i + 1) * BLOCK - 1));
    CHECK_INT (0, blkhash_leaves_forget (filler->l,
                                         (uint64_t) (FILL - KEPT) * BLOCK,
                                         block * BLOCK));
  }
  sem_post (&turn_ended);
  while (sem_wait (&all_ended) == -1)
    ;
  return NULL;
}

static void
test_leaves_threads_bound (void)
{
  unsigned char *data = must (malloc (BLOCK));
  size_t before = resident (), most;
  struct blkhash_leaves *l =
    must (blkhash_leaves_new (NULL, (uint64_t) FILLERS * FILL * BLOCK, 0));
  pthread_t threads[FILLERS];
  struct filler fillers[FILLERS];
  unsigned i;

  memset (data, 0x55, BLOCK);
  sem_init (&turn_ended, 0, 0);
  sem_init (&all_ended, 0, 0);
  for (i = 0; i < FILLERS; i++) {
    fillers[i] = (struct filler) { l, i, data };
    CHECK_INT (0, pthread_create (&threads[i], NULL, fill_pieces,
                                  &fillers[i]));
    while (sem_wait (&turn_ended) == -1)
      ;
  }
  most = resident ();
  for (i = 0; i < FILLERS; i++)
    sem_post (&all_ended);
  for (i = 0; i < FILLERS; i++)
    pthread_join (threads[i], NULL);
  if (before > 0)
    check_at (__LINE__, most < before + 80 * MiB,
              "resident memory grew from %zu to %zu", before, most);
  blkhash_leaves_free (l);
  free (data);
}

/* All threads at once, each with a block of 16 MiB that its last piece
 * completes: blocks that are being hashed count too.
 */
static void *
complete_blocks (void *opaque)
{
  const struct filler *filler = opaque;
  const size_t block = 16 * MiB, half = block / 2;
  uint64_t offset = filler->number * block;

  CHECK_INT (0, blkhash_leaves_data (filler->l, filler->data, half, offset));
  CHECK_INT (0, blkhash_leaves_data (filler->l, filler->data, half,
                                     offset + half));
  return NULL;
}

static void
test_leaves_large_bound (void)
{
  enum { THREADS = 64 };
  unsigned char *data = must (malloc (8 * MiB));
  struct blkhash_opts *opts = new_opts ("sha256", 16 * MiB, 0, 1, 0);
  size_t before = peak_resident (), most;
  struct blkhash_leaves *l =
    must (blkhash_leaves_new (opts, THREADS * (16 * (uint64_t) MiB), 0));
  pthread_t threads[THREADS];
  struct filler fillers[THREADS];
  unsigned i;

  memset (data, 0x55, 8 * MiB);
  for (i = 0; i < THREADS; i++) {
    fillers[i] = (struct filler) { l, i, data };
    CHECK_INT (0, pthread_create (&threads[i], NULL, complete_blocks,
                                  &fillers[i]));
  }
  for (i = 0; i < THREADS; i++)
    pthread_join (threads[i], NULL);
  most = peak_resident ();
  if (before > 0)
    check_at (__LINE__, most < before + (80 + 8) * MiB,
              "resident memory grew from %zu to %zu", before, most);
  blkhash_leaves_free (l);
  blkhash_opts_free (opts);
  free (data);
}

/* Copied data waits to be hashed: only a few blocks of it. */
static void
test_copies_bound (void)
{
  struct blkhash_opts *opts = new_opts ("sha512", 16 * MiB, 0, 128, 0);
  unsigned char *data = must (malloc (MiB));
  struct blkhash *h = must (blkhash_new_opts (opts));
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  size_t before, most;
  unsigned i;

  memset (data, 0x55, MiB);
  before = peak_resident ();
  for (i = 0; i < 512; i++)
    CHECK_INT (0, blkhash_update (h, data, MiB));
  CHECK_INT (0, blkhash_final (h, md, NULL));
  most = peak_resident ();
  if (before > 0)
    check_at (__LINE__, most < before + 56 * MiB,
              "resident memory grew from %zu to %zu", before, most);
  blkhash_free (h);
  blkhash_opts_free (opts);
  free (data);
}

/* ---- For make check-long ---- */

static void
slow_100g (void)
{
  enum { SIZE = 16 * MiB };
  struct blkhash *h = new_hash ("sha256", 64, 4, 0);
  unsigned char *data = must (malloc (SIZE));
  unsigned i;

  memset (data, 0x55, SIZE);
  for (i = 0; i < 100 * 64; i++)
    CHECK_INT (0, blkhash_update (h, data, SIZE));
  CHECK_FINAL ("691f0b9dfbcb944b91ad23bac4ea17db"
               "82f336b0aa47cec3b6890ee4a39375b6", h);
  free (data);
}

static void
slow_100t (void)
{
  struct blkhash *h = new_hash ("sha256", 64, 4, 0);
  uint64_t left;
  size_t len;

  /* In one call, if the size fits into a size_t. */
  for (left = UINT64_C (100) << 40; left > 0; left -= len) {
    len = left < SIZE_MAX ? left : SIZE_MAX;
    CHECK_INT (0, blkhash_zero (h, len));
  }
  CHECK_FINAL ("659cfc90e33af01329e527444482f6b2"
               "afd01c827dc06724014b03a1e6583d39", h);
}

/* ---- Manifests ---- */

/* Returns a reader of the manifest of two blocks with these leaves. */
static struct blkhash_manifest_reader *
manifest_of (const unsigned char leaves[2][32], FILE *file)
{
  struct blkhash_leaves *l = must (blkhash_leaves_new (NULL, 2 * BLOCK, 0));
  const struct blkhash_manifest_run run = {
    .count = 2, .leaves = leaves[0], .leaf_size = 32
  };
  int fd = fileno (file);

  CHECK_INT (0, blkhash_leaves_put_run (l, &run));
  CHECK_INT (0, blkhash_leaves_save (l, fd, NULL, NULL));
  blkhash_leaves_free (l);
  CHECK_INT (0, lseek (fd, 0, SEEK_SET));
  return must (blkhash_manifest_reader_new (fd, 0, NULL, 0));
}

/* The leaf of zeros, here the SHA-256 of 64 KiB by Python's hashlib, is that of
 * zeros for blkhash_leaves_put_run, so the reader accepts the manifest, and the
 * block is zero for the differ.
 */
static void
test_differ (void)
{
  static const unsigned char leaves[2][2][32] = {
    { { 1 }, { 0xde, 0x2f, 0x25, 0x60, 0x64, 0xa0, 0xaf, 0x79,
               0x77, 0x47, 0xc2, 0xb9, 0x75, 0x05, 0xdc, 0x0b,
               0x9f, 0x3d, 0xf0, 0xde, 0x4f, 0x48, 0x9e, 0xac,
               0x73, 0x1c, 0x23, 0xae, 0x9c, 0xa9, 0xcc, 0x31 } },
    { { 1 }, { 2 } }
  };
  FILE *file[2] = { must (tmpfile ()), must (tmpfile ()) };
  struct blkhash_manifest_reader *a = manifest_of (leaves[0], file[0]);
  struct blkhash_manifest_reader *b = manifest_of (leaves[1], file[1]);
  struct blkhash_manifest_differ *d;
  uint64_t start, len;

  CHECK_ERRNO (EINVAL, blkhash_manifest_differ_new (a, a) == NULL);
  d = must (blkhash_manifest_differ_new (a, b));
  CHECK_INT (0, blkhash_manifest_differ_next (d, &start, &len));
  CHECK_INT (BLOCK, start);
  CHECK_INT (BLOCK, len);
  CHECK_INT (ENOENT, blkhash_manifest_differ_next (d, &start, &len));
  CHECK_INT (ENOENT, blkhash_manifest_differ_next (d, &start, &len));
  blkhash_manifest_differ_free (d);
  blkhash_manifest_differ_free (NULL);
  blkhash_manifest_reader_free (a);
  blkhash_manifest_reader_free (b);
  fclose (file[0]);
  fclose (file[1]);
}

/* ---- A fork ---- */

/* In the child calls fail, and free returns; lib/hash/test-hash-fork.c has more.
 */
static void
test_fork (void)
{
  struct blkhash_leaves *l = must (blkhash_leaves_new (NULL, BLOCK, 0));
  struct blkhash *h = new_hash ("sha256", 0, 2, 0);
  static unsigned char buf[4 * MiB] = { 1 };
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  int status = -1;
  pid_t pid;

  CHECK_INT (0, blkhash_update (h, buf, sizeof buf));
  fflush (stdout);
  pid = fork ();
  if (pid == 0) {
    alarm (60);
    failures = 0;
    CHECK_INT (EINVAL, blkhash_update (h, buf, sizeof buf));
    CHECK_INT (EINVAL, blkhash_final (h, md, NULL));
    CHECK_INT (EINVAL, blkhash_leaves_data (l, buf, BLOCK, 0));
    blkhash_free (h);
    blkhash_leaves_free (l);
    l = blkhash_leaves_new (NULL, BLOCK, 0);
    CHECK (l && blkhash_leaves_data (l, buf, BLOCK, 0) == 0);
    CHECK_INT (0, blkhash_leaves_fold (l, md, NULL));
    fflush (stdout);
    _exit (failures > 0);
  }
  CHECK (pid != -1 && waitpid (pid, &status, 0) == pid);
  CHECK_INT (0, status);
  CHECK_INT (0, blkhash_final (h, md, NULL));
  blkhash_free (h);
  blkhash_leaves_free (l);
}

/* ---- */

static const struct {
  const char *name;
  void (*run) (void);
} tests[] = {
  { "opts", test_opts },
  { "linear", test_linear },
  { "digest-name", test_digest_name },
  { "version", test_version },
  { "copy", test_copy },
  { "same-hash", test_same_hash },
  { "tag", test_tag },
  { "spec", test_spec },
  { "sum-parse", test_sum_parse },
  { "digests", test_digests },
  { "known-answers", test_known_answers },
  { "zero", test_zero },
  { "after-final", test_after_final },
  { "overflow", test_overflow },
  { "no-buffer", test_no_buffer },
  { "free", test_free },
  { "aio-disabled", test_aio_disabled },
  { "no-descriptors", test_no_descriptors },
  { "aio-depth", test_aio_depth },
  { "aio-mixed", test_aio_mixed },
  { "aio-short", test_aio_short },
  { "free-in-flight", test_free_in_flight },
  { "upstream-style", test_upstream_style },
  { "leaves-errors", test_leaves_errors },
  { "leaves-pieces", test_leaves_pieces },
  { "leaves-once", test_leaves_once },
  { "leaves-huge", test_leaves_huge },
  { "leaves-bound", test_leaves_bound },
  { "leaves-in-order", test_leaves_in_order },
  { "differ", test_differ },
  { "fork", test_fork },
  { "alone-threads-bound", test_leaves_threads_bound },
  { "alone-large-bound", test_leaves_large_bound },
  { "alone-copies-bound", test_copies_bound },
  { "slow-100g", slow_100g },
  { "slow-100t", slow_100t },
};

int
main (int argc, char *argv[])
{
  bool slow = argc > 1 && strncmp (argv[1], "slow", 4) == 0;
  bool alone = argc > 1 && strncmp (argv[1], "alone", 5) == 0;
  size_t i;

  disable_huge_pages ();
  for (i = 0; i < sizeof tests / sizeof tests[0]; i++) {
    unsigned before = failures;

    if (argc > 1 && !strstr (tests[i].name, argv[1]))
      continue;
    if (!slow && strncmp (tests[i].name, "slow", 4) == 0)
      continue;
    if (!alone && strncmp (tests[i].name, "alone", 5) == 0)
      continue;
    tests[i].run ();
    printf ("%s: %s\n", failures == before ? "ok" : "FAILED", tests[i].name);
    fflush (stdout);
  }
  return failures > 0;
}
