/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: a write after file_new is detected, also on a file system whose
 * times have the resolution of a tick, and file_new does not wait without need.
 * The clock is simulated: time only passes while file_new sleeps.  It is a year
 * ahead of the real one, so the ctime, which cannot be set, is old.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/test-time64.h"
#include "io/file.h"
#include "util/error.h"

#define SECOND INT64_C (1000000000)
#define MS (SECOND / 1000)
#define TICK (10 * MS)          /* of Linux at 100 Hz */
#define COARSE (2 * SECOND)     /* of FAT */
#define YEAR (365 * 86400 * SECOND)

int __wrap_clock_gettime (clockid_t clock, struct timespec *time)
  WRAPS_TIME64 (clock_gettime);
int __wrap_nanosleep (const struct timespec *time, struct timespec *rest)
  WRAPS_TIME64 (nanosleep);

static struct {
  int64_t now, slept;           /* ns */
  int64_t tick;                 /* of the file system, ns */
  int64_t ahead;                /* of the file system's clock, ns */
  unsigned writes_asleep;       /* number of sleeps in which the file is
                                 * modified */
  bool grows_asleep;            /* the file grows at the start of a sleep */
  FILE *content;
} fake;

static struct timespec
time_of (int64_t ns)
{
  return (struct timespec) { .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };
}

static void
write_byte (void)
{
  assert_int_equal (putc ('x', fake.content), 'x');
  assert_int_equal (fflush (fake.content), 0);
}

static void
set_mtime (int64_t ns)
{
  const struct timespec times[2] = { time_of (ns), time_of (ns) };

  assert_int_equal (futimens (fileno (fake.content), times), 0);
}

/* Modify the file without a change of its size. */
static void
overwrite (void)
{
  int64_t now = fake.now + fake.ahead;

  rewind (fake.content);
  write_byte ();
  set_mtime (now / fake.tick * fake.tick);
}

int
__wrap_clock_gettime (clockid_t clock, struct timespec *time)
{
  assert_int_equal (clock, CLOCK_REALTIME);
  *time = time_of (fake.now);
  return 0;
}

int
__wrap_nanosleep (const struct timespec *time, struct timespec *rest)
{
  int64_t ns = time->tv_sec * SECOND + time->tv_nsec;

  (void) rest;
  if (fake.grows_asleep) {
    write_byte ();
    set_mtime (fake.now / fake.tick * fake.tick);
  }
  fake.now += ns;
  fake.slept += ns;
  if (fake.writes_asleep > 0) {
    fake.writes_asleep--;
    overwrite ();
  }
  return 0;
}

static int
start (void **state)
{
  (void) state;
  fake.now = (time (NULL) * SECOND + YEAR) / COARSE * COARSE + 3 * TICK + MS;
  fake.slept = fake.ahead = 0;
  fake.tick = TICK;
  fake.writes_asleep = 0;
  fake.grows_asleep = false;
  fake.content = tmpfile ();
  if (!fake.content)
    return -1;
  write_byte ();
  overwrite ();
  return 0;
}

static int
end (void **state)
{
  (void) state;
  return fclose (fake.content);
}

static struct file *
try_open (bool force_share, struct error *error)
{
  return file_new (fileno (fake.content), NULL, false, force_share, true,
                   error);
}

static struct file *
open_file (void)
{
  struct error error = { "" };
  struct file *file = try_open (false, &error);

  assert_non_null (file);
  return file;
}

/* A write to FILE must be detected, and nothing else. */
static void
check_write (struct file *file)
{
  struct error error = { "" };

  assert_int_equal (file_check_unchanged (file, false, &error), 0);
  overwrite ();
  assert_int_equal (file_check_unchanged (file, false, &error), -1);
  assert_string_equal (error.text, "the file changed while it was read");
  file_free (file);
}

/* Open the file, which must take SLEEP ns.  A write afterwards is detected. */
static void
check_open (int64_t sleep)
{
  check_write (open_file ());
  assert_int_equal (fake.slept, sleep);
}

static void
test_old (void **state)
{
  (void) state;
  fake.now += TICK;
  check_open (0);
}

static void
test_same_tick (void **state)
{
  (void) state;
  check_open (TICK);
}

/* After the first file, the others are old enough. */
static void
test_many (void **state)
{
  (void) state;
  for (int i = 0; i < 10000; i++)
    file_free (open_file ());
  assert_int_equal (fake.slept, TICK);
}

/* File systems with times in seconds, or in two seconds. */
static void
test_coarse (void **state)
{
  (void) state;
  fake.tick = COARSE;
  fake.now += SECOND;
  overwrite ();
  check_open (COARSE);
}

/* A program sets the mtime back after each write, all within a tick. */
static void
test_ctime (void **state)
{
  struct stat st;

  (void) state;
  set_mtime (fake.now - 2 * YEAR);
  assert_int_equal (fstat (fileno (fake.content), &st), 0);
  fake.now = st.st_ctim.tv_sec * SECOND + st.st_ctim.tv_nsec + MS;
  check_open (TICK);
}

/* The mtime is in the future: by the clock of a server, or by any mistake. */
static void
test_future (void **state)
{
  static const int64_t ahead[] = { 3 * MS, SECOND, 10 * YEAR };

  (void) state;
  for (unsigned i = 0; i < sizeof ahead / sizeof *ahead; i++) {
    fake.ahead = ahead[i];
    fake.slept = 0;
    overwrite ();
    check_open (TICK);
  }
}

/* Writes until the tick after file_new was called are before the first read. */
static void
test_end_of_writes (void **state)
{
  (void) state;
  fake.writes_asleep = 3;
  check_open (4 * TICK);
}

/* A write in the same tick also changes the size. */
static void
test_size (void **state)
{
  struct file *file;

  (void) state;
  fake.grows_asleep = true;
  file = open_file ();
  assert_int_equal (file->size, 2);
  check_write (file);
}

/* A file that is modified all the time is refused after some seconds. */
static void
test_busy (void **state)
{
  struct error error = { "" };

  (void) state;
  fake.writes_asleep = UINT32_MAX;
  assert_null (try_open (false, &error));
  assert_string_equal (error.text, "the file changed while it was read");
  assert_true (fake.slept <= 2 * COARSE);
}

static void
test_force_share (void **state)
{
  struct error error = { "" };

  (void) state;
  file_free (try_open (true, &error));
  assert_int_equal (fake.slept, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, start, end)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (test_old),
    TEST (test_same_tick),
    TEST (test_many),
    TEST (test_coarse),
    TEST (test_ctime),
    TEST (test_future),
    TEST (test_end_of_writes),
    TEST (test_size),
    TEST (test_busy),
    TEST (test_force_share),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
