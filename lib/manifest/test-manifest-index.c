/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: random access to the leaves of random manifests, compared with a
 * model, also while the file changes.  Prints the seed, which can be set by the
 * environment variable BLKHASH_SEED.
 *
 * The leaves of the manifests are random numbers: the images do not exist.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash-manifest.h"
#include "common/util.h"
#include "manifest/manifest-index.h"

#define MAX_RUN 3000            /* maximum number of blocks of a look-up */
#define MiB (1024 * 1024)

ssize_t __real_pread (int fd, void *buf, size_t len, off_t offset);
ssize_t __wrap_pread (int fd, void *buf, size_t len, off_t offset);
void *__real_malloc (size_t size);
void *__wrap_malloc (size_t size);
void *__real_calloc (size_t count, size_t size);
void *__wrap_calloc (size_t count, size_t size);
void *__real_realloc (void *p, size_t size);
void *__wrap_realloc (void *p, size_t size);
void __real_free (void *p);
void __wrap_free (void *p);

/* ---- Count allocated memory ---- */

static atomic_long used, peak;  /* bytes */

static void *
count (void *p)
{
  long now = used += p ? malloc_usable_size (p) : 0;

  if (now > peak)               /* exact if there is one thread */
    peak = now;
  return p;
}

void *
__wrap_malloc (size_t size)
{
  return count (__real_malloc (size));
}

void *
__wrap_calloc (size_t n, size_t size)
{
  return count (__real_calloc (n, size));
}

void *
__wrap_realloc (void *p, size_t size)
{
  long old = p ? malloc_usable_size (p) : 0;

  p = __real_realloc (p, size);
  if (p)
    used -= old;
  return p ? count (p) : NULL;
}

void
__wrap_free (void *p)
{
  used -= p ? malloc_usable_size (p) : 0;
  __real_free (p);
}

/* ---- Images ---- */

static unsigned seed;

static uint32_t
any (uint32_t limit)            /* less than LIMIT */
{
  return (rand_r (&seed) * UINT64_C (32768) + rand_r (&seed)) % limit;
}

struct image {
  struct blkhash_opts *opts;
  uint64_t size, blocks;
  size_t leaf_size;
  uint32_t salt;                /* seed of the leaves */
  bool zero_leaves;             /* all bytes of all leaves are 0 */
  bool *zero;                   /* for each block, whether it is zero */
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  int fd;                       /* its manifest */
};

static void
make_leaf (const struct image *image, uint64_t block, unsigned char *leaf)
{
  uint64_t x = (block + 1) * UINT64_C (0x9e3779b97f4a7c15) + image->salt;
  size_t i;

  for (i = 0; i < image->leaf_size; i++) {
    x = (x ^ x >> 29) * UINT64_C (0xbf58476d1ce4e5b9);
    leaf[i] = image->zero_leaves ? 0 : x >> 56;
  }
}

static int
temporary (void)
{
  char name[] = "test-manifest-index-XXXXXX";
  int fd = mkstemp (name);

  assert_int_not_equal (fd, -1);
  unlink (name);
  return fd;
}

static void
write_run (const struct image *image, const struct blkhash_leaf_sink *sink,
           uint64_t first, uint64_t n)
{
  unsigned char *leaves;
  uint64_t i;

  if (image->zero[first]) {
    assert_int_equal (sink->zero (sink->opaque, first, n), 0);
    return;
  }
  leaves = malloc (n * image->leaf_size + 1);
  assert_non_null (leaves);
  for (i = 0; i < n; i++)
    make_leaf (image, first + i, leaves + i * image->leaf_size);
  assert_int_equal (sink->data (sink->opaque, first, n, leaves,
                                image->leaf_size), 0);
  free (leaves);
}

/* Replace the content of FD with a manifest of N blocks from FIRST on. */
static void
write_part (struct image *image, int fd, uint64_t first, uint64_t n)
{
  struct blkhash_manifest_writer *w;
  struct blkhash_leaf_sink sink;
  uint64_t i, end = first + n, len;

  assert_int_equal (ftruncate (fd, 0), 0);
  assert_int_equal (lseek (fd, 0, SEEK_SET), 0);
  w = blkhash_manifest_writer_new_part (image->opts, image->size, first, n, fd);
  assert_non_null (w);
  sink = blkhash_manifest_writer_sink (w);
  if (first > 0)
    assert_int_equal (sink.zero (sink.opaque, 0, first), 0);
  for (i = first; i < end; i += len) {
    for (len = 1; i + len < end && image->zero[i + len] == image->zero[i]; )
      len++;
    write_run (image, &sink, i, len);
  }
  if (end < image->blocks)
    assert_int_equal (sink.zero (sink.opaque, end, image->blocks - end), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, image->size, image->md,
                                                    NULL), 0);
  blkhash_manifest_writer_free (w);
  assert_int_equal (lseek (fd, 0, SEEK_SET), 0);
}

/* An image of SIZE bytes of zeros, which has no manifest yet. */
static struct image *
new_image (const char *digest, uint32_t block_size, uint64_t size)
{
  struct image *image = calloc (1, sizeof *image);

  assert_non_null (image);
  image->opts = blkhash_opts_new (digest);
  assert_int_equal (blkhash_opts_set_block_size (image->opts, block_size), 0);
  image->leaf_size = blkhash_opts_get_digest_size (image->opts);
  image->size = size;
  image->blocks = size / block_size + (size % block_size != 0);
  image->salt = any (UINT32_MAX);
  image->zero = malloc (image->blocks + 1);
  assert_non_null (image->zero);
  memset (image->zero, true, image->blocks);
  image->fd = temporary ();
  return image;
}

static void
write_image (struct image *image)
{
  write_part (image, image->fd, 0, image->blocks);
}

static void
free_image (struct image *image)
{
  close (image->fd);
  blkhash_opts_free (image->opts);
  free (image->zero);
  free (image);
}

/* Divide IMAGE into runs of at most LONGEST blocks, data and zeros in turn. */
static void
fill (struct image *image, uint32_t longest)
{
  bool zero = any (2);
  uint64_t i = 0, n;

  for (; i < image->blocks; i += n, zero = !zero) {
    n = 1 + any (longest);
    n = MIN (n, image->blocks - i);
    memset (image->zero + i, zero, n);
  }
}

/* Every other block is zero: the most records that a manifest can have. */
static struct image *
alternating_image (uint64_t blocks)
{
  struct image *image = new_image ("sha256", 4096, blocks * 4096);

  fill (image, 1);
  write_image (image);
  return image;
}

static struct image *
random_image (const char *digest)
{
  static const uint32_t longest[] = { 1, 3, 50, 5000, 200000 };
  uint32_t block_size = 4u << any (23);
  uint64_t blocks = 1 + any (1u << (1 + any (17)));
  uint64_t size = blocks * block_size - any (block_size);
  struct image *image = new_image (digest, block_size, size);

  blkhash_opts_set_streams (image->opts, any (3) ? 0 : 1 + any (100));
  fill (image, longest[any (5)]);
  write_image (image);
  return image;
}

/* ---- Look-ups ---- */

static struct manifest_index *
open_index (const struct image *image)
{
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  struct manifest_index *index =
    manifest_index_new (image->fd, reason, sizeof reason);

  assert_non_null (index);
  return index;
}

/* Does RUN match IMAGE?  This uses no asserts of cmocka, because they work only
 * in the main thread.
 */
static bool
is_right (const struct image *image, const struct blkhash_manifest_run *run,
          bool has_leaves)
{
  unsigned char leaf[BLKHASH_MAX_MD_SIZE];
  uint64_t i;

  for (i = 0; i < run->count; i++) {
    if (image->zero[run->first + i] != !run->leaves)
      return false;
    make_leaf (image, run->first + i, leaf);
    if (run->leaves && has_leaves &&
        memcmp (leaf, run->leaves + i * image->leaf_size,
                image->leaf_size) != 0)
      return false;
  }
  return true;
}

/* A manifest that is being loaded: the next run must begin at block NEXT. */
struct loading {
  const struct image *image;
  uint64_t next;
  bool again;                   /* the runs have no leaves */
};

static int
add_run (void *opaque, const struct blkhash_manifest_run *run)
{
  struct loading *loading = opaque;

  assert_int_equal (run->first, loading->next);
  assert_true (is_right (loading->image, run, !loading->again));
  loading->next += run->count;
  return 0;
}

static struct manifest_index *
load (const struct image *image)
{
  struct manifest_index *index = open_index (image);
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  struct loading loading = { .image = image };

  assert_int_equal (manifest_index_load (index, add_run, &loading, reason,
                                         sizeof reason), 0);
  assert_int_equal (loading.next, image->blocks);
  assert_memory_equal (manifest_index_sum (index), image->md,
                       image->leaf_size);
  assert_int_equal (manifest_index_size (index), image->size);
  assert_true (blkhash_opts_same_hash (manifest_index_opts (index),
                                       image->opts));
  return index;
}

/* Look up at most MAX blocks from FIRST on, and store their number in *N and
 * the error in *ERR.  Returns false if the blocks are wrong.
 */
static bool
look_up (const struct image *image, struct manifest_index *index,
         uint64_t first, uint64_t max, bool with_leaves, uint64_t *n, int *err)
{
  struct blkhash_manifest_run run;
  size_t room = max * image->leaf_size;
  unsigned char *leaves = with_leaves ? malloc (room + 1) : NULL;
  bool right;

  if (with_leaves)
    leaves[room] = 0x55;        /* must not be overwritten */
  *err = manifest_index_get (index, first, max, leaves, &run);
  *n = run.count;
  right = *err || (run.first == first && run.count >= 1 && run.count <= max &&
                   first + run.count <= image->blocks &&
                   run.leaf_size == image->leaf_size &&
                   is_right (image, &run, with_leaves));
  if (with_leaves)
    right = right && leaves[room] == 0x55;
  free (leaves);
  return right;
}

/* Look up all blocks in order.  A look-up may fail with ESTALE; then some
 * blocks are skipped.  Returns the number of failures.
 */
static unsigned
look_up_all (const struct image *image, struct manifest_index *index)
{
  bool with_leaves = any (4);
  unsigned failures = 0;
  uint64_t i, n;
  int err;

  for (i = 0; i < image->blocks; i += n) {
    assert_true (look_up (image, index, i, 1 + any (MAX_RUN), with_leaves, &n,
                          &err));
    assert_true (err == 0 || err == ESTALE);
    if (err) {
      failures++;
      n = 1 + any (500);
    }
  }
  return failures;
}

static void
look_up_some (const struct image *image, struct manifest_index *index,
              unsigned times)
{
  uint64_t n;
  int err;

  while (times-- > 0 && image->blocks > 0) {
    assert_true (look_up (image, index, any (image->blocks),
                          1 + any (1u << any (13)), any (4), &n, &err));
    assert_int_equal (err, 0);
  }
}

static void
check_image (struct image *image)
{
  struct manifest_index *index = load (image);
  struct loading again = { .image = image, .again = true };

  assert_int_equal (look_up_all (image, index), 0);
  look_up_some (image, index, 300);
  assert_int_equal (manifest_index_each (index, add_run, &again), 0);
  assert_int_equal (again.next, image->blocks);
  manifest_index_free (index);
  free_image (image);
}

static void
test_random (void **state)
{
  const char *names[100];
  size_t i, n = blkhash_digests (names, 100);
  unsigned round;

  (void) state;
  for (i = 0; i < n; i++)
    for (round = 0; round < 4; round++)
      check_image (random_image (names[i]));
}

/* Sizes just below, at and above one block and one record. */
static void
test_sizes (void **state)
{
  static const uint64_t sizes[] = {
    0, 1, 4095, 4096, 4097, 65535 * 4096, 65536 * 4096, 65536 * 4096 + 1
  };
  unsigned i, zero;

  (void) state;
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (zero = 0; zero < 2; zero++) {
      struct image *image = new_image ("sha512", 4096, sizes[i]);

      memset (image->zero, zero, image->blocks);
      write_image (image);
      check_image (image);
    }
}

/* Long records over many pieces of the file (see PINNED_PIECE), and many
 * records in each piece.
 */
static void
test_records (void **state)
{
  struct image *image = new_image ("sha512", 4, 200000 * 4 - 1);

  (void) state;
  memset (image->zero, false, image->blocks);
  image->zero[100000] = true;
  write_image (image);
  check_image (image);

  check_image (alternating_image (30000));
}

/* The digest of an index depends on all bytes of the file. */
static void
test_digest (void **state)
{
  struct image *image = alternating_image (1000);
  unsigned char first[MANIFEST_INDEX_DIGEST_SIZE], md[sizeof first];
  struct manifest_index *index = load (image);

  (void) state;
  assert_int_equal (manifest_index_digest (index, first), 0);
  manifest_index_free (index);
  lseek (image->fd, 0, SEEK_SET);
  index = load (image);
  assert_int_equal (manifest_index_digest (index, md), 0);
  assert_memory_equal (md, first, sizeof md);
  manifest_index_free (index);
  image->salt++;
  write_image (image);
  index = load (image);
  assert_int_equal (manifest_index_digest (index, md), 0);
  assert_memory_not_equal (md, first, sizeof md);
  manifest_index_free (index);
  free_image (image);
}

static int
count_call (void *opaque)
{
  unsigned *left = opaque;

  return --*left > 0 ? 0 : ECANCELED;
}

/* Load the manifest of IMAGE, and return how often the poll function was
 * called.  Its call number LIMIT returns an error, and the load must return
 * ERR.
 */
static unsigned
load_polled (const struct image *image, unsigned limit, bool skip_sum, int err)
{
  struct manifest_index *index = open_index (image);
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  unsigned left = limit;

  manifest_index_set_poll (index, count_call, &left);
  if (skip_sum)
    manifest_index_skip_sum (index);
  assert_int_equal (manifest_index_load (index, NULL, NULL, reason,
                                         sizeof reason), err);
  assert_string_equal (reason, err ? strerror (err) : "");
  manifest_index_free (index);
  lseek (image->fd, 0, SEEK_SET);
  return limit - left;
}

/* The poll function is called within a long run of zeros, and in data. */
static void
test_poll (void **state)
{
  struct image *image = new_image ("sha256", 4, 1000000 * 4 - 1);

  (void) state;
  write_image (image);
  assert_int_equal (load_polled (image, 1000, false, 0), 1000000 / 65536);
  assert_int_equal (load_polled (image, 3, false, ECANCELED), 3);
  assert_int_equal (load_polled (image, 1000, true, 0), 1);
  memset (image->zero, false, image->blocks);
  write_image (image);
  assert_int_equal (load_polled (image, 1000, false, 0), 1000000 / 65536);
  assert_int_equal (load_polled (image, 1000, true, 0), 1000000 / 65536);
  free_image (image);
  image = alternating_image (4 * 65536);
  assert_int_equal (load_polled (image, 1000, false, 0), 4);
  free_image (image);
}

/* After manifest_index_skip_sum the sum in the file is returned unverified. */
static void
test_no_sum (void **state)
{
  struct image *image = alternating_image (5000);
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  struct manifest_index *index = open_index (image);

  (void) state;
  manifest_index_skip_sum (index);
  assert_int_equal (manifest_index_load (index, NULL, NULL, reason,
                                         sizeof reason), 0);
  assert_memory_equal (manifest_index_sum (index), image->md,
                       image->leaf_size);
  assert_int_equal (look_up_all (image, index), 0);
  manifest_index_free (index);
  free_image (image);
}

/* All leaves are zero, so whole pieces of the file are zero. */
static void
test_zero_leaves (void **state)
{
  struct image *image = new_image ("sha256", 4096, 5000 * 4096);
  struct manifest_index *index;

  (void) state;
  image->zero_leaves = true;
  memset (image->zero, false, image->blocks);
  write_image (image);
  index = load (image);
  assert_int_equal (look_up_all (image, index), 0);
  manifest_index_free (index);
  free_image (image);
}

/* ---- Changes ---- */

static uint64_t
file_size (int fd)
{
  struct stat st;

  assert_int_equal (fstat (fd, &st), 0);
  return st.st_size;
}

static void
flip (int fd, uint64_t offset)
{
  unsigned char byte;

  assert_int_equal (pread (fd, &byte, 1, offset), 1);
  byte ^= 1 << offset % 8;
  assert_int_equal (pwrite (fd, &byte, 1, offset), 1);
}

/* Change a byte in each full piece of the file in turn.  Look-ups that need
 * this piece fail, and all others are right.  After the byte was restored, all
 * look-ups work.
 */
static void
test_flipped (void **state)
{
  struct image *image = alternating_image (1000);
  uint64_t size = file_size (image->fd), piece;

  (void) state;
  for (piece = 0; piece < size / PINNED_PIECE; piece++) {
    struct manifest_index *index = load (image);
    uint64_t offset = piece * PINNED_PIECE + any (PINNED_PIECE);

    flip (image->fd, offset);
    assert_int_not_equal (look_up_all (image, index), 0);
    flip (image->fd, offset);
    assert_int_equal (look_up_all (image, index), 0);
    manifest_index_free (index);
    lseek (image->fd, 0, SEEK_SET);
  }
  free_image (image);
}

/* A file larger than the cache: pieces are evicted from the cache, so changed
 * bytes are detected even if they were cached before.
 */
static void
test_flipped_much (void **state)
{
  struct image *image = alternating_image (100000);
  uint64_t size = file_size (image->fd);
  struct manifest_index *index = load (image);
  unsigned i, failures = 0;
  uint64_t n;
  int err;

  (void) state;
  assert_true (size > PINNED_CACHE * PINNED_PIECE);
  look_up_all (image, index);
  for (i = 0; i < 20; i++)
    flip (image->fd, any (size));
  for (i = 0; i < 5000; i++) {
    assert_true (look_up (image, index, any (image->blocks), 1, true, &n,
                          &err));
    assert_true (err == 0 || err == ESTALE);
    failures += err != 0;
  }
  assert_in_range (failures, 1, 4999);
  manifest_index_free (index);
  free_image (image);
}

/* After the size of the file has changed, only cached pieces can be used. */
static void
test_resized (void **state)
{
  struct image *image = alternating_image (50000);
  uint64_t size = file_size (image->fd);
  const uint64_t sizes[] = { 0, 511, 512, size / 2, size - 1, size + 1,
                             2 * size };
  unsigned i, warm, failures;

  (void) state;
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (warm = 0; warm < 2; warm++) {
      struct manifest_index *index = load (image);

      if (warm)
        look_up_some (image, index, 3);
      assert_int_equal (ftruncate (image->fd, sizes[i]), 0);
      failures = look_up_all (image, index);
      assert_int_not_equal (failures, 0);
      manifest_index_free (index);
      write_image (image);
    }
  free_image (image);
}

static int fd_to_cut = -1;

ssize_t
__wrap_pread (int fd, void *buf, size_t len, off_t offset)
{
  if (fd == fd_to_cut) {
    assert_int_equal (ftruncate (fd, offset + 100), 0);
    fd_to_cut = -1;
  }
  return __real_pread (fd, buf, len, offset);
}

/* The file is truncated within a piece, just after its size was checked. */
static void
test_cut_while_reading (void **state)
{
  struct image *image = alternating_image (5000);
  struct manifest_index *index = load (image);

  (void) state;
  fd_to_cut = image->fd;
  assert_int_not_equal (look_up_all (image, index), 0);
  assert_int_equal (fd_to_cut, -1);
  manifest_index_free (index);
  free_image (image);
}

/* The file gets the content of another manifest, which differs in the leaves
 * only: its records are at the same offsets.
 */
static void
test_replaced (void **state)
{
  struct image *image = alternating_image (50000);
  struct image other = *image;
  struct manifest_index *index = load (image);

  (void) state;
  other.salt++;
  write_image (&other);
  assert_int_not_equal (look_up_all (image, index), 0);
  write_image (image);
  assert_int_equal (look_up_all (image, index), 0);
  manifest_index_free (index);
  free_image (image);
}

#define READ_EARLY (128 * 1024) /* bytes; more than is read with the header */

/* A file that changes after its header was read, and before the rest is read,
 * cannot be loaded.
 */
static void
test_changed_while_loading (void **state)
{
  struct image *image = alternating_image (50000);
  struct image other = *image;
  uint64_t size = file_size (image->fd);
  unsigned i;

  (void) state;
  other.salt++;
  for (i = 0; i < 20; i++) {
    struct manifest_index *index = open_index (image);
    char reason[BLKHASH_MAX_REASON_SIZE] = "";

    if (i % 3 == 0)
      flip (image->fd, READ_EARLY + any (size - READ_EARLY));
    else if (i % 3 == 1)
      assert_int_equal (ftruncate (image->fd, any (size)), 0);
    else {
      off_t offset = lseek (image->fd, 0, SEEK_CUR);

      write_image (&other);
      lseek (image->fd, offset, SEEK_SET);
    }
    assert_int_equal (manifest_index_load (index, NULL, NULL, reason,
                                           sizeof reason), EBADMSG);
    assert_int_not_equal (*reason, 0);
    manifest_index_free (index);
    write_image (image);
  }
  free_image (image);
}

/* ---- Threads ---- */

#define THREADS 4

struct crowd {
  struct image *image;
  struct manifest_index *index;
  bool may_be_stale;
  atomic_uint seed, wrong, stale, fresh;
  atomic_bool done;
};

static void *
read_at_random (void *opaque)
{
  struct crowd *crowd = opaque;
  unsigned i, my_seed = crowd->seed++;
  uint64_t n;
  int err;

  for (i = 0; i < 1000; i++) {
    uint64_t first = rand_r (&my_seed) % crowd->image->blocks;

    if (!look_up (crowd->image, crowd->index, first, 1 + rand_r (&my_seed) % 40,
                  i % 8, &n, &err))
      crowd->wrong++;
    else if (err == 0)
      crowd->fresh++;
    else if (err == ESTALE && crowd->may_be_stale)
      crowd->stale++;
    else
      crowd->wrong++;
  }
  return NULL;
}

/* Change a byte, and often the size, and restore them, again and again. */
static void *
change_at_random (void *opaque)
{
  struct crowd *crowd = opaque;
  int fd = crowd->image->fd;
  unsigned my_seed = crowd->seed++;
  uint64_t size = file_size (fd);

  while (!crowd->done) {
    uint64_t offset = rand_r (&my_seed) % size;
    int r;

    flip (fd, offset);
    r = ftruncate (fd, size + rand_r (&my_seed) % 2);
    if (rand_r (&my_seed) % 4 == 0)
      usleep (100);
    flip (fd, offset);
    r |= ftruncate (fd, size);
    if (r != 0)
      crowd->wrong++;
    usleep (300);
  }
  return NULL;
}

static void
run_crowd (bool change)
{
  struct image *image = alternating_image (100000);
  struct crowd crowd = { .image = image, .index = load (image),
                         .may_be_stale = change, .seed = any (100000) };
  pthread_t threads[THREADS], changer;
  unsigned i;

  assert_true (file_size (image->fd) > PINNED_CACHE * PINNED_PIECE);
  if (change)
    assert_int_equal (pthread_create (&changer, NULL, change_at_random,
                                      &crowd), 0);
  for (i = 0; i < THREADS; i++)
    assert_int_equal (pthread_create (&threads[i], NULL, read_at_random,
                                      &crowd), 0);
  for (i = 0; i < THREADS; i++)
    pthread_join (threads[i], NULL);
  crowd.done = true;
  if (change)
    pthread_join (changer, NULL);
  assert_int_equal (crowd.wrong, 0);
  assert_int_equal (crowd.fresh + crowd.stale, THREADS * 1000);
  assert_int_equal (look_up_all (image, crowd.index), 0);
  manifest_index_free (crowd.index);
  free_image (image);
}

static int
fail_at_second (void *opaque, const struct blkhash_manifest_run *run)
{
  unsigned *calls = opaque;

  (void) run;
  return ++*calls == 2 ? ENOMEM : 0;
}

static void
test_function_fails (void **state)
{
  struct image *image = alternating_image (10);
  struct manifest_index *index;
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  unsigned calls = 0;

  (void) state;
  index = open_index (image);
  assert_int_equal (manifest_index_load (index, fail_at_second, &calls, reason,
                                         sizeof reason), ENOMEM);
  assert_string_equal (reason, strerror (ENOMEM));
  assert_int_equal (calls, 2);
  manifest_index_free (index);
  free_image (image);
}

static void
test_threads (void **state)
{
  (void) state;
  run_crowd (false);
}

static void
test_threads_changing (void **state)
{
  (void) state;
  run_crowd (true);
}

/* ---- Errors ---- */

/* Check that the manifest in FD is refused with ERR; and with WHY, if not NULL.
 */
static void
assert_refused (int fd, int err, const char *why)
{
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  struct manifest_index *index;

  lseek (fd, 0, SEEK_SET);
  errno = 0;
  index = manifest_index_new (fd, reason, sizeof reason);
  if (!index)
    assert_int_equal (errno, err);
  else
    assert_int_equal (manifest_index_load (index, NULL, NULL, reason,
                                           sizeof reason), err);
  if (why)
    assert_string_equal (reason, why);
  else
    assert_int_not_equal (*reason, '\0');
  manifest_index_free (index);
}

static void
test_not_a_file (void **state)
{
  struct image *image = alternating_image (10);
  char bytes[2000];
  ssize_t n = pread (image->fd, bytes, sizeof bytes, 0);
  int fds[2], fd = open (".", O_RDONLY);

  (void) state;
  manifest_index_free (NULL);
  assert_int_equal (pipe (fds), 0);
  assert_int_equal (write (fds[1], bytes, n), n);
  close (fds[1]);
  assert_refused (fds[0], ESPIPE, "not a regular file");
  assert_refused (fd, ESPIPE, "not a regular file");
  close (fd);
  close (fds[0]);
  assert_refused (fd, EBADF, strerror (EBADF));
  free_image (image);
}

static void
test_part (void **state)
{
  struct image *image = alternating_image (1000);

  (void) state;
  write_part (image, image->fd, 0, 999);
  assert_refused (image->fd, ENODATA, "it has only a part of an image");
  write_part (image, image->fd, 500, 500);
  assert_refused (image->fd, ENODATA, "it has only a part of an image");
  write_part (image, image->fd, 0, 0);
  assert_refused (image->fd, ENODATA, "it has only a part of an image");
  free_image (image);
}

/* A manifest is refused if it is truncated at any length, if it has trailing
 * data, or if any byte after the header was changed.
 */
static void
test_damaged (void **state)
{
  struct image *image = alternating_image (30);
  uint64_t i, size = file_size (image->fd);

  (void) state;
  for (i = 512; i < size; i++) {
    flip (image->fd, i);
    assert_refused (image->fd, EBADMSG, NULL);
    flip (image->fd, i);
  }
  assert_int_equal (pwrite (image->fd, "", 1, size), 1);
  assert_refused (image->fd, EBADMSG, "trailing data after the manifest");
  while (size-- > 0) {
    assert_int_equal (ftruncate (image->fd, size), 0);
    assert_refused (image->fd, EBADMSG, NULL);
  }
  free_image (image);
}

/* ---- The memory of an index ---- */

/* Loading a manifest of 64 MiB takes memory for its largest record.  After that
 * only digests and marks (see manifest-index.c) and the cache take memory.
 */
static void
test_memory (void **state)
{
  struct image *image = new_image ("sha256", 4, 2 * MiB * 4);
  struct manifest_index *index;
  long before;

  (void) state;
  memset (image->zero, false, image->blocks);
  write_image (image);
  peak = before = used;
  index = load (image);
  assert_true (peak - before < 10 * MiB);
  assert_true (used - before < MiB * 3 / 4);
  look_up_some (image, index, 1000);
  assert_true (used - before < 3 * MiB);
  manifest_index_free (index);
  free_image (image);

  /* Many records. */
  image = alternating_image (400000);
  peak = before = used;
  index = load (image);
  look_up_some (image, index, 1000);
  assert_true (peak - before < 4 * MiB);
  manifest_index_free (index);
  free_image (image);
}

int
main (void)
{
  const char *given = getenv ("BLKHASH_SEED");
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_sizes),
    cmocka_unit_test (test_records),
    cmocka_unit_test (test_digest),
    cmocka_unit_test (test_poll),
    cmocka_unit_test (test_no_sum),
    cmocka_unit_test (test_zero_leaves),
    cmocka_unit_test (test_flipped),
    cmocka_unit_test (test_flipped_much),
    cmocka_unit_test (test_resized),
    cmocka_unit_test (test_cut_while_reading),
    cmocka_unit_test (test_replaced),
    cmocka_unit_test (test_changed_while_loading),
    cmocka_unit_test (test_function_fails),
    cmocka_unit_test (test_threads),
    cmocka_unit_test (test_threads_changing),
    cmocka_unit_test (test_not_a_file),
    cmocka_unit_test (test_part),
    cmocka_unit_test (test_damaged),
    cmocka_unit_test (test_memory),
  };

  seed = given ? strtoul (given, NULL, 10) : (unsigned) time (NULL);
  printf ("BLKHASH_SEED=%u\n", seed);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
