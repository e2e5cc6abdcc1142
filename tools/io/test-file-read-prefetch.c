/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: pieces are prefetched in parallel, and have the content of the
 * file.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/util.h"
#include "io/file-read.h"

#define PIECE PREFETCH_PIECE
#define PIECES (3 * PREFETCH_COUNT)
#define SIZE ((PIECES - 1) * (uint64_t) PIECE + 512) /* of a file, bytes */
#define FD 1000                 /* FD and FD + 1 are two simulated files; no
                                 * real file has these descriptors */
#define THREADS 16              /* PREFETCH_MAX_THREADS of file-read.c */
#define ROUNDS 2000

/* ---- Files ---- */

static atomic_uint reads, reading, max_reading;
static atomic_uint held_until;  /* no read ends before this number of reads
                                 * has begun */
static atomic_bool failing, no_threads;

static unsigned char
byte_at (int fd, uint64_t offset)
{
  return offset / 512 * (fd - FD + 7) + offset;
}

ssize_t __wrap_pread (int fd, void *buf, size_t len, off_t offset);
ssize_t __wrap_pread64 (int fd, void *buf, size_t len, off_t offset);

ssize_t
__wrap_pread (int fd, void *buf, size_t len, off_t offset)
{
  unsigned char *bytes = buf;
  unsigned now = ++reading, most = max_reading;

  reads++;
  while (now > most && !atomic_compare_exchange_weak (&max_reading, &most,
                                                      now))
    ;
  while (reads < held_until)
    sched_yield ();
  /* Direct I/O requires this alignment. */
  assert_int_equal ((uintptr_t) buf % 4096, 0);
  assert_int_equal (len % 4096, 0);
  assert_int_equal (offset % 4096, 0);
  if (failing) {
    reading--;
    errno = EIO;
    return -1;
  }
  len = MIN (len, SIZE - offset);
  for (size_t i = 0; i < len; i++)
    bytes[i] = byte_at (fd, offset + i);
  reading--;
  return len;
}

ssize_t
__wrap_pread64 (int fd, void *buf, size_t len, off_t offset)
{
  return __wrap_pread (fd, buf, len, offset);
}

int __real_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                           void *(*run) (void *), void *arg);
int __wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                           void *(*run) (void *), void *arg);

int
__wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                       void *(*run) (void *), void *arg)
{
  return no_threads ? EAGAIN : __real_pthread_create (thread, attr, run, arg);
}

/* ---- Helpers ---- */

static struct prefetch *prefetch;

static int
start (void **state)
{
  (void) state;
  reads = max_reading = held_until = 0;
  failing = no_threads = false;
  prefetch = prefetch_new ();
  assert_non_null (prefetch);
  alarm (300);                  /* end a test that hangs */
  return 0;
}

static int
end (void **state)
{
  (void) state;
  prefetch_free (prefetch);
  alarm (0);
  return 0;
}

/* Returns true if the range was prefetched, and checks its content. */
static bool
copy (int fd, size_t len, uint64_t offset)
{
  static _Thread_local unsigned char buf[2 * PIECE];

  if (!prefetch_copy (prefetch, fd, buf, len, offset))
    return false;
  for (size_t i = 0; i < len; i++)
    if (buf[i] != byte_at (fd, offset + i))
      fail ();
  return true;
}

/* ---- Tests ---- */

/* The reads are in flight together: none ends before all have begun. */
static void
test_in_flight (void **state)
{
  (void) state;
  held_until = THREADS;
  prefetch_start (prefetch, FD, SIZE, THREADS * PIECE, 0);
  for (unsigned i = 0; i < THREADS; i++)
    assert_true (copy (FD, PIECE, i * PIECE));
  assert_int_equal (reads, THREADS);
  assert_int_equal (max_reading, THREADS);
  /* The pieces are still in the cache. */
  prefetch_start (prefetch, FD, SIZE, THREADS * PIECE, 0);
  assert_true (copy (FD, 8, PIECE + 8));
  assert_int_equal (reads, THREADS);
}

/* Without threads prefetch_copy reads the queued pieces. */
static void
test_no_threads (void **state)
{
  (void) state;
  no_threads = true;
  prefetch_start (prefetch, FD, SIZE, 4 * PIECE, 0);
  assert_int_equal (reads, 0);
  for (unsigned i = 0; i < 4; i++)
    assert_true (copy (FD, PIECE, i * PIECE));
  assert_int_equal (reads, 4);
}

/* Nothing is copied from pieces that were not prefetched, from the other file,
 * or across the end of a piece.
 */
static void
test_not_there (void **state)
{
  (void) state;
  assert_false (copy (FD, 8, 0));
  prefetch_start (prefetch, FD, SIZE, PIECE, PIECE);
  assert_false (copy (FD, 8, 0));
  assert_false (copy (FD + 1, 8, PIECE));
  assert_false (copy (FD, 16, 2 * PIECE - 8));
  assert_true (copy (FD, 8, 2 * PIECE - 8));
  assert_false (copy (FD, 8, 2 * PIECE));
}

static void
test_end_of_file (void **state)
{
  uint64_t last = SIZE - 512;

  (void) state;
  prefetch_start (prefetch, FD, SIZE, 8 * PIECE, last + 8);
  assert_true (copy (FD, 512, last));
  assert_false (copy (FD, 513, last));
  assert_false (copy (FD, 8, SIZE));
  assert_int_equal (reads, 1);
}

/* A piece that could not be read is dropped, and can be prefetched again. */
static void
test_errors (void **state)
{
  (void) state;
  failing = true;
  prefetch_start (prefetch, FD, SIZE, PIECE, 0);
  assert_false (copy (FD, 8, 0));
  failing = false;
  assert_false (copy (FD, 8, 0));
  prefetch_start (prefetch, FD, SIZE, PIECE, 0);
  assert_true (copy (FD, 8, 0));
}

/* The file has more pieces than the cache can hold.  Each is read once. */
static void
test_many (void **state)
{
  unsigned there = 0;

  (void) state;
  for (unsigned i = 0; i < PIECES; i++) {
    prefetch_start (prefetch, FD, SIZE, 8 * PIECE, i * (uint64_t) PIECE);
    there += copy (FD, 512, i * (uint64_t) PIECE);
  }
  assert_int_equal (there, PIECES);
  assert_int_equal (reads, PIECES);
}

static void *
use_any (void *opaque)
{
  unsigned seed = *(unsigned *) opaque;

  for (int i = 0; i < ROUNDS; i++) {
    int fd = FD + rand_r (&seed) % 2;
    uint64_t offset = rand_r (&seed) % PIECES * (uint64_t) PIECE;

    if (rand_r (&seed) % 2)
      prefetch_start (prefetch, fd, SIZE, rand_r (&seed) % (32 * PIECE),
                      offset);
    copy (fd, 8, offset);
    if (rand_r (&seed) % 100 == 0)
      failing = rand_r (&seed) % 4 == 0;
  }
  return NULL;
}

static void
test_random (void **state)
{
  pthread_t threads[4];
  unsigned seeds[4];

  (void) state;
  for (unsigned i = 0; i < 4; i++) {
    seeds[i] = i;
    assert_int_equal (pthread_create (&threads[i], NULL, use_any, &seeds[i]),
                      0);
  }
  for (unsigned i = 0; i < 4; i++)
    pthread_join (threads[i], NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, start, end)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (test_in_flight),
    TEST (test_no_threads),
    TEST (test_not_there),
    TEST (test_end_of_file),
    TEST (test_errors),
    TEST (test_many),
    TEST (test_random),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
