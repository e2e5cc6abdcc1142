/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: a scan reads what is missing in the leaf table, and nothing else,
 * also if some blocks were set before, or after a scan in which a read failed.
 * The result does not depend on the number of reads in flight, which is random
 * in half of the rounds.
 */

#include <config.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash.h"
#include "read/depth.h"
#include "read/image-reader.h"
#include "read/scan.h"
#include "read/test-disk.h"
#include "util/error.h"
#include "util/source-options.h"

#define ROUNDS 40
#define MAX_DEPTH 64
#define MIB (1024 * 1024)

static const struct source_options options = {
  .extents = true, .threads = 3, .memory = SOURCE_MEMORY
};

/* ---- The queue depth ---- */

static unsigned first_depth;    /* the first limit; 0: that of the reader */
static bool random_depth;       /* the limit is random after each read */

void __real_depth_init (struct depth *depth, unsigned start, unsigned max,
                        unsigned threads);
void __wrap_depth_init (struct depth *depth, unsigned start, unsigned max,
                        unsigned threads);
void __real_depth_read_done (struct depth *depth,
                             const struct depth_read *read);
void __wrap_depth_read_done (struct depth *depth,
                             const struct depth_read *read);

void
__wrap_depth_init (struct depth *depth, unsigned start, unsigned max,
                   unsigned threads)
{
  __real_depth_init (depth, first_depth > 0 ? first_depth : start, max,
                     threads);
}

void
__wrap_depth_read_done (struct depth *depth, const struct depth_read *read)
{
  static unsigned depth_seed = 1;

  __real_depth_read_done (depth, read);
  if (random_depth)
    depth->limit = 1 + rand_r (&depth_seed) % MAX_DEPTH;
}

static int
begin_fails (void *opaque, struct error *error)
{
  (void) opaque;
  return error_set (error, "no beginning");
}

/* ---- The table ---- */

static struct blkhash_leaves *
new_table (uint64_t size, unsigned flags)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash_leaves *leaves;

  assert_int_equal (blkhash_opts_set_block_size (opts, BLOCK), 0);
  leaves = blkhash_leaves_new (opts, size, flags);
  assert_non_null (leaves);
  blkhash_opts_free (opts);
  return leaves;
}

/* Check that the sum of the table is the sum of the bytes of DISK. */
static void
check_sum (struct blkhash_leaves *leaves, const struct disk *disk)
{
  unsigned char sum[BLKHASH_MAX_MD_SIZE], expected[BLKHASH_MAX_MD_SIZE];
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash *hash;
  unsigned len;

  blkhash_opts_set_block_size (opts, BLOCK);
  hash = blkhash_new_opts (opts);
  assert_non_null (hash);
  assert_int_equal (blkhash_update (hash, disk->bytes, disk->size), 0);
  assert_int_equal (blkhash_final (hash, expected, &len), 0);
  assert_int_equal (blkhash_leaves_fold (leaves, sum, NULL), 0);
  assert_memory_equal (sum, expected, len);
  blkhash_free (hash);
  blkhash_opts_free (opts);
}

/* Returns 0, or -1 with ERROR set. */
static int
scan_image (struct blkhash_leaves *leaves, const struct image_ops *image,
            struct error *error)
{
  struct scan scan;
  int r;

  scan_init (&scan, leaves, BLOCK);
  r = image_reader_scan (image, &options, &scan);
  *error = scan.error;
  scan_destroy (&scan);
  return r;
}

static void
scan_all (struct blkhash_leaves *leaves, struct disk *disk)
{
  const struct image_ops image = image_ops_of (disk);
  struct error error;

  assert_int_equal (scan_image (leaves, &image, &error), 0);
  assert_false (error_is_set (&error));
}

/* ---- Tests ---- */

static void
test_fresh (void **state)
{
  static struct disk disk;

  (void) state;
  for (int i = 0; i < ROUNDS; i++) {
    struct blkhash_leaves *leaves;

    random_depth = i % 2 == 0;
    make_disk (&disk);
    leaves = new_table (disk.size, BLKHASH_LEAVES_ONCE);
    scan_all (leaves, &disk);
    for (uint64_t n = 0; n * BLOCK < disk.size; n++)
      assert_int_equal (disk.reads[n], !disk.hole[n]);
    check_sum (leaves, &disk);
    blkhash_leaves_free (leaves);
    free (disk.bytes);
  }
}

/* Ranges whose data adjoins in the file are read together, up to 16 ranges in
 * one read.
 */
static void
test_joined (void **state)
{
  static struct disk disk;
  struct image_ops image;
  struct blkhash_leaves *leaves;
  struct error error;

  (void) state;
  disk = (struct disk) { .size = 64 * BLOCK, .fail_at = UINT64_MAX };
  disk.bytes = calloc (1, disk.size);
  for (unsigned n = 0; n < 64; n++) {
    disk.hole[n] = n % 2;
    disk.kind[n] = n % 2 ? PLACE_ZEROS : PLACE_FILE;
    disk.place[n] = n < 48 ? n / 2 : n; /* data of blocks before 48 adjoins */
    disk.at_place[disk.place[n]] = n - (n < 48 ? n % 2 : 0);
    disk.bytes[n * BLOCK] = !disk.hole[n];
  }
  image = image_ops_of (&disk);
  leaves = new_table (disk.size, BLKHASH_LEAVES_ONCE);
  assert_int_equal (scan_image (leaves, &image, &error), 0);
  check_sum (leaves, &disk);
  assert_int_equal (disk.joined, 2); /* of 16 and of 8 ranges; the other ranges
                                      * were read one by one */
  for (unsigned n = 0; n < 64; n++)
    assert_int_equal (disk.reads[n], !disk.hole[n]);
  blkhash_leaves_free (leaves);
  free (disk.bytes);
}

/* An image in which data alternates with zeros.  Up to a limit, the data of
 * several pieces is joined in one read.
 */
struct pieces {
  struct simulated file;
  uint64_t data, every;         /* each piece of EVERY bytes begins with DATA
                                 * bytes of data; the rest is zero */
  uint64_t fail_at;             /* the lookup for this offset fails */
  atomic_uint_least64_t longest; /* bytes of the longest read */
};

static int
piece_at (void *opaque, uint64_t offset, struct extent *extent,
          struct error *error)
{
  const struct pieces *pieces = opaque;
  uint64_t at = offset % pieces->every;

  if (offset == pieces->fail_at)
    return error_set (error, "no table");
  extent->zero = at >= pieces->data;
  extent->len = (extent->zero ? pieces->every : pieces->data) - at;
  extent->place[0] = (struct place) {
    .kind = extent->zero ? PLACE_ZEROS : PLACE_FILE,
    .file = &pieces->file.file,
    .host = offset / pieces->every * pieces->data + at,
  };
  return 0;
}

static int
read_pieces (struct simulated *file, void *buf, size_t len, uint64_t at,
             struct error *error)
{
  struct pieces *pieces = (struct pieces *) file;

  (void) at; (void) error;
  memset (buf, 1, len);
  if (pieces->longest < len)
    pieces->longest = len;
  return 0;
}

static void
check_longest (uint64_t data, uint64_t every, uint64_t longest)
{
  static struct pieces pieces;
  const struct image_ops image = {
    .size = 512 * MIB, .opaque = &pieces, .extent_at = piece_at, .joins = true
  };
  const struct source_options one = {
    .extents = true, .threads = 1, .memory = SOURCE_MEMORY
  };
  struct blkhash_leaves *leaves = new_table (image.size, BLKHASH_LEAVES_ONCE);
  struct scan scan;

  pieces = (struct pieces) {
    .file.read = read_pieces, .data = data, .every = every,
    .fail_at = UINT64_MAX
  };
  scan_init (&scan, leaves, BLOCK);
  assert_int_equal (image_reader_scan (&image, &one, &scan), 0);
  assert_int_equal (pieces.longest, longest);
  scan_destroy (&scan);
  blkhash_leaves_free (leaves);
}

/* An error of the lookup of a range that might be joined ends the scan. */
static void
test_lookup_error (void **state)
{
  struct pieces pieces = {
    .file.read = read_pieces, .data = BLOCK, .every = 2 * BLOCK,
    .fail_at = 6 * BLOCK
  };
  const struct image_ops image = {
    .size = MIB, .opaque = &pieces, .extent_at = piece_at, .joins = true
  };
  struct blkhash_leaves *leaves = new_table (image.size, BLKHASH_LEAVES_ONCE);
  struct error error;

  (void) state;
  assert_int_equal (scan_image (leaves, &image, &error), -1);
  assert_string_equal (error.text, "no table");
  assert_int_equal (pieces.longest, 2 * BLOCK);
  blkhash_leaves_free (leaves);
}

/* The number and the total length of joined ranges are limited, and so are the
 * zeros between them, because other threads wait while these are added.
 */
static void
test_joined_limits (void **state)
{
  (void) state;
  /* The limits are 16 ranges, the 2 MiB of a read (here three ranges), and 4096
   * zero blocks (here between nine ranges).
   */
  check_longest (BLOCK, 64 * BLOCK, 16 * BLOCK);
  check_longest (150 * BLOCK, 151 * BLOCK, 450 * BLOCK);
  check_longest (BLOCK, 513 * BLOCK, 9 * BLOCK);
}

/* Only whole pages at aligned offsets of a file are read from it, if the image
 * requires that.  What is between them is read by one call of READ.
 */
static const struct extent unaligned[] = {
  { .len = BLOCK, .place[0] = { .kind = PLACE_FILE, .host = 512 } },
  { .len = 2 * BLOCK, .place[0] = { .kind = PLACE_FILE, .host = 2 * BLOCK } },
  { .len = 512, .place[0] = { .kind = PLACE_FILE, .host = 9 * BLOCK } },
  { .len = BLOCK - 512, .place[0].kind = PLACE_UNKNOWN },
};

struct aligned {
  struct simulated file;
  unsigned file_reads, reads;
};

static int
unaligned_at (void *opaque, uint64_t offset, struct extent *extent,
              struct error *error)
{
  struct aligned *aligned = opaque;
  unsigned i = 0;

  (void) error;
  for (uint64_t start = 0; start < offset; i++)
    start += unaligned[i].len;
  *extent = unaligned[i];
  extent->place[0].file = &aligned->file.file;
  return 0;
}

static int
read_aligned (struct simulated *file, void *buf, size_t len, uint64_t at,
              struct error *error)
{
  struct aligned *aligned = (struct aligned *) file;

  (void) error;
  assert_int_equal (at, 2 * BLOCK);
  assert_int_equal (len, 2 * BLOCK);
  memset (buf, 1, len);
  aligned->file_reads++;
  return 0;
}

static int
read_rest (void *opaque, const struct range *range, void *buf,
           struct error *error)
{
  struct aligned *aligned = opaque;

  (void) error;
  assert_int_equal (range->offset, aligned->reads == 0 ? 0 : 3 * BLOCK);
  assert_int_equal (range->len, BLOCK);
  memset (buf, 1, range->len);
  aligned->reads++;
  return 0;
}

static void
test_whole_pages (void **state)
{
  struct aligned aligned = { .file.read = read_aligned };
  const struct image_ops image = {
    .size = 4 * BLOCK, .opaque = &aligned, .extent_at = unaligned_at,
    .read = read_rest, .whole_pages = true
  };
  struct blkhash_leaves *leaves = new_table (image.size, BLKHASH_LEAVES_ONCE);
  struct error error;

  (void) state;
  alarm (300);                  /* end a test that hangs */
  assert_int_equal (scan_image (leaves, &image, &error), 0);
  alarm (0);
  assert_int_equal (aligned.file_reads, 1);
  assert_int_equal (aligned.reads, 2);
  blkhash_leaves_free (leaves);
}

/* Blocks that were set before are not read. */
static void
test_missing (void **state)
{
  static struct disk disk;
  static bool known[BLOCKS];

  (void) state;
  for (int i = 0; i < ROUNDS; i++) {
    struct blkhash_leaves *leaves;
    uint64_t n;

    random_depth = i % 2 == 0;
    make_disk (&disk);
    leaves = new_table (disk.size, 0);
    for (n = 0; n * BLOCK < disk.size; n++) {
      uint64_t left = disk.size - n * BLOCK;

      known[n] = rnd (3) == 0;
      if (known[n])
        assert_int_equal (blkhash_leaves_data (leaves, disk.bytes + n * BLOCK,
                                               left < BLOCK ? left : BLOCK,
                                               n * BLOCK), 0);
    }
    scan_all (leaves, &disk);
    scan_all (leaves, &disk);
    for (n = 0; n * BLOCK < disk.size; n++)
      assert_int_equal (disk.reads[n], !disk.hole[n] && !known[n]);
    check_sum (leaves, &disk);
    blkhash_leaves_free (leaves);
    free (disk.bytes);
  }
}

/* After an error the missing blocks can still be read. */
static void
test_error (void **state)
{
  static struct disk disk;
  struct error error;

  (void) state;
  for (int i = 0; i < ROUNDS; i++) {
    struct blkhash_leaves *leaves;
    struct image_ops image;

    random_depth = i % 2 == 0;
    make_disk (&disk);
    image = image_ops_of (&disk);
    leaves = new_table (disk.size, BLKHASH_LEAVES_ONCE);
    if (disk.size > 0 && !disk.hole[disk.fail_at = rnd (disk.size) / BLOCK]) {
      disk.fail_at *= BLOCK;
      assert_int_equal (scan_image (leaves, &image, &error),
                        -1);
      assert_non_null (strstr (error.text, "no byte"));
    }
    image.begin = begin_fails;
    assert_int_equal (scan_image (leaves, &image, &error), -1);
    assert_true (error_is_set (&error));
    disk.fail_at = UINT64_MAX;
    scan_all (leaves, &disk);
    check_sum (leaves, &disk);
    blkhash_leaves_free (leaves);
    free (disk.bytes);
  }
}

/* After an error each thread begins at most one more read, of a range that it
 * had taken before the error.
 */
struct failing {
  struct scan scan;
  atomic_uint late;             /* reads that began after the error */
};

static int
fail_first (void *opaque, const struct range *range, void *buf,
            struct error *error)
{
  struct failing *failing = opaque;

  memset (buf, 1, range->len);
  if (scan_has_failed (&failing->scan))
    failing->late++;
  return range->offset == 0 ? error_set (error, "no first byte") : 0;
}

static void
test_error_stops (void **state)
{
  static struct failing failing;
  const struct image_ops image = {
    .size = UINT64_C (1) << 30, .opaque = &failing, .read = fail_first
  };
  struct blkhash_leaves *leaves = new_table (image.size, BLKHASH_LEAVES_ONCE);

  (void) state;
  scan_init (&failing.scan, leaves, BLOCK);
  assert_int_equal (image_reader_scan (&image, &options, &failing.scan), -1);
  assert_string_equal (failing.scan.error.text, "no first byte");
  assert_true (failing.late <= options.threads);
  scan_destroy (&failing.scan);
  blkhash_leaves_free (leaves);
}

/* ---- Threads ---- */

/* If there is no data, only the thread that called image_reader_scan queries
 * extents.
 */
static int
extent_by_caller (void *opaque, uint64_t offset, struct extent *extent,
                  struct error *error)
{
  const pthread_t *caller = opaque;

  (void) offset;
  if (!pthread_equal (*caller, pthread_self ()))
    return error_set (error, "another thread");
  *extent = (struct extent) { .len = MIB, .zero = true };
  return 0;
}

static void
test_no_data (void **state)
{
  pthread_t caller = pthread_self ();
  const struct image_ops image = {
    .size = 64 * MIB, .opaque = &caller, .extent_at = extent_by_caller
  };
  struct blkhash_leaves *leaves;
  struct error error;

  (void) state;
  for (int i = 0; i < ROUNDS; i++) {
    leaves = new_table (image.size, BLKHASH_LEAVES_ONCE);
    assert_int_equal (scan_image (leaves, &image, &error), 0);
    blkhash_leaves_free (leaves);
  }
}

/* All threads read at the same time: no read ends before each thread has begun
 * one.
 */
static int
read_with_others (void *opaque, const struct range *range, void *buf,
                  struct error *error)
{
  atomic_uint *reading = opaque;

  (void) error;
  memset (buf, 1, range->len);
  (*reading)++;
  while (*reading < options.threads)
    sched_yield ();
  return 0;
}

static void
test_all_read (void **state)
{
  static atomic_uint reading;
  const struct image_ops image = {
    .size = 64 * MIB, .opaque = &reading, .read = read_with_others
  };
  struct blkhash_leaves *leaves;
  struct error error;

  (void) state;
  alarm (300);                  /* end a test that hangs */
  for (int i = 0; i < 4; i++) {
    reading = 0;
    leaves = new_table (image.size, BLKHASH_LEAVES_ONCE);
    assert_int_equal (scan_image (leaves, &image, &error), 0);
    blkhash_leaves_free (leaves);
  }
  alarm (0);
}

/* MAX_DEPTH reads are in flight, although only three threads may hash: no read
 * ends before MAX_DEPTH reads have begun.
 */
static int
short_extents (void *opaque, uint64_t offset, struct extent *extent,
               struct error *error)
{
  (void) opaque; (void) error;
  *extent = (struct extent) {
    .len = offset % MIB == 0 ? BLOCK : MIB - offset % MIB,
    .zero = offset % MIB != 0,
  };
  return 0;
}

static int
read_with_all (void *opaque, const struct range *range, void *buf,
               struct error *error)
{
  atomic_uint *reading = opaque;

  (void) error;
  memset (buf, 1, range->len);
  (*reading)++;
  while (*reading < MAX_DEPTH)
    sched_yield ();
  return 0;
}

static void
test_depth (void **state)
{
  static atomic_uint reading;
  const struct image_ops image = {
    .size = UINT64_C (2) * MAX_DEPTH * MIB, .opaque = &reading,
    .extent_at = short_extents, .read = read_with_all
  };
  struct blkhash_leaves *leaves = new_table (image.size, BLKHASH_LEAVES_ONCE);
  struct error error;

  (void) state;
  alarm (300);                  /* end a test that hangs */
  first_depth = MAX_DEPTH;
  assert_int_equal (scan_image (leaves, &image, &error), 0);
  first_depth = 0;
  assert_int_equal (reading, 2 * MAX_DEPTH);
  alarm (0);
  blkhash_leaves_free (leaves);
}

/* ---- Streams ---- */

struct stream {
  struct disk *disk;
  struct blkhash_leaves *leaves;
};

static int
read_next (void *opaque, void *buf, size_t size, struct range *range,
           struct error *error)
{
  const struct stream *stream = opaque;
  struct disk *disk = stream->disk;
  uint64_t left = disk->size - disk->streamed;

  if (left == 0)
    return 0;
  if (disk->fail_at <= disk->streamed)
    return error_set (error, "no more");
  *range = (struct range) {
    .offset = disk->streamed, .len = left < size ? left : size
  };
  memcpy (buf, disk->bytes + range->offset, range->len);
  disk->streamed += range->len;
  if (left == range->len)
    assert_int_equal (blkhash_leaves_set_size (stream->leaves, disk->size),
                      0);
  return 1;
}

static void
test_stream (void **state)
{
  static struct disk disk;

  (void) state;
  for (int i = 0; i < ROUNDS; i++) {
    struct stream stream = { .disk = &disk };
    const struct image_ops image = {
      .opaque = &stream, .read_next = read_next
    };
    struct scan scan;
    int expected;

    random_depth = i % 2 == 0;
    make_disk (&disk);
    stream.leaves = new_table (BLKHASH_SIZE_UNKNOWN, BLKHASH_LEAVES_ONCE);
    if (disk.size == 0)
      assert_int_equal (blkhash_leaves_set_size (stream.leaves, 0), 0);
    if (rnd (4) == 0)
      disk.fail_at = rnd (BLOCKS * BLOCK);
    scan_init (&scan, stream.leaves, BLOCK);
    expected = image_reader_scan (&image, &options, &scan);
    if (expected == 0)
      check_sum (stream.leaves, &disk);
    else
      assert_string_equal (scan.error.text, "no more");
    assert_int_equal (expected == 0, disk.streamed == disk.size);
    scan_destroy (&scan);
    blkhash_leaves_free (stream.leaves);
    free (disk.bytes);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_fresh),
    cmocka_unit_test (test_joined),
    cmocka_unit_test (test_joined_limits),
    cmocka_unit_test (test_lookup_error),
    cmocka_unit_test (test_whole_pages),
    cmocka_unit_test (test_missing),
    cmocka_unit_test (test_error),
    cmocka_unit_test (test_error_stops),
    cmocka_unit_test (test_no_data),
    cmocka_unit_test (test_all_read),
    cmocka_unit_test (test_depth),
    cmocka_unit_test (test_stream),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
