/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: when the journal has stopped, all leaves that were appended are in
 * the file, and some of them are written earlier; after an error, all calls
 * fail.  With BUSY the waits of the journal's thread time out at once, so the
 * thread writes all the time.  Otherwise the waits do not time out, and the
 * thread writes only at the end.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/test-time64.h"

#include "blkhash-manifest.h"

#include "../lib/manifest/manifest-unfinished.h"
#include "io/files.h"
#include "job/journal-file.h"
#include "job/journal.h"
#include "util/error.h"

#define BLOCK 65536
#define BLOCKS 20000
#define SIZE ((uint64_t) BLOCKS * BLOCK)
#define LEAF 32

int __wrap_pthread_cond_timedwait (pthread_cond_t *cond,
                                   pthread_mutex_t *mutex,
                                   const struct timespec *until)
  WRAPS_TIME64 (pthread_cond_timedwait);
int __wrap_fdatasync (int fd);

static struct journal_file file;
static bool busy;               /* set before start: waits time out at once */
static int sync_error;
static const struct files image;
static bool changed;            /* the image has changed */
static struct error reason;     /* why the last call failed */

int
files_check_unchanged (const struct files *files, struct error *error)
{
  assert_ptr_equal (files, &image);
  return __atomic_load_n (&changed, __ATOMIC_RELAXED)
    ? error_set (error, "it changed") : 0;
}

int
__wrap_pthread_cond_timedwait (pthread_cond_t *cond, pthread_mutex_t *mutex,
                               const struct timespec *until)
{
  (void) until;
  if (!busy)
    return pthread_cond_wait (cond, mutex);
  pthread_mutex_unlock (mutex);
  sched_yield ();
  pthread_mutex_lock (mutex);
  return ETIMEDOUT;
}

int
__wrap_fdatasync (int fd)
{
  (void) fd;
  if (sync_error == 0)
    return 0;
  errno = sync_error;
  return -1;
}

static int
temporary (void)
{
  char name[] = "test-journal-XXXXXX";
  int fd = mkstemp (name);

  assert_int_not_equal (fd, -1);
  unlink (name);
  return fd;
}

static void
start (struct journal *journal, int fd)
{
  struct error error = { "" };

  file.fd = fd;
  file.writer = manifest_writer_new_unfinished (NULL, SIZE, 0, fd);
  assert_non_null (file.writer);
  assert_int_equal (journal_start (journal, &file, &image, &error), 0);
}

/* Append the leaf of BLOCK.  Every tenth block is zeros. */
static int
append (struct journal *journal, uint64_t block)
{
  unsigned char leaf[LEAF];
  const struct blkhash_manifest_run run = {
    .first = block, .count = 1, .leaves = block % 10 == 0 ? NULL : leaf,
    .leaf_size = LEAF
  };

  memset (leaf, 1 + block % 200, LEAF);
  reason = (struct error) { "" };
  return journal_append (journal, &run, &reason);
}

/* Returns the number of blocks in FD, and checks them. */
static uint64_t
count_blocks (int fd)
{
  struct blkhash_manifest_reader *r;
  struct blkhash_manifest_run run;
  uint64_t next = 0, i;

  assert_int_equal (lseek (fd, 0, SEEK_SET), 0);
  r = manifest_reader_new_unfinished (fd, NULL, 0);
  assert_non_null (r);
  while (blkhash_manifest_reader_next (r, &run) == 0)
    for (i = 0; i < run.count; i++, next++) {
      assert_true ((next % 10 == 0) == !run.leaves);
      if (run.leaves)
        assert_int_equal (run.leaves[i * LEAF], 1 + next % 200);
    }
  blkhash_manifest_reader_free (r);
  return next;
}

static int
finish (struct journal *journal)
{
  int r;

  reason = (struct error) { "" };
  r = journal_stop (journal, &reason);
  blkhash_manifest_writer_free (file.writer);
  return r;
}

static void
test_busy (void **state)
{
  struct journal journal;
  int fd = temporary ();
  struct stat st;
  uint64_t i;

  (void) state;
  busy = true;
  start (&journal, fd);
  for (i = 0; i < BLOCKS; i++)
    assert_int_equal (append (&journal, i), 0);
  do
    assert_int_equal (fstat (fd, &st), 0);
  while (st.st_size == 0);
  assert_int_equal (finish (&journal), 0);
  assert_int_equal (count_blocks (fd), BLOCKS);
  close (fd);
}

/* All leaves that were appended are written, even if the journal is stopped at
 * once.
 */
static void
test_stopped_at_once (void **state)
{
  struct journal journal;
  unsigned round;

  (void) state;
  for (round = 0; round < 200; round++) {
    int fd = temporary ();

    busy = round % 2 == 0;
    start (&journal, fd);
    assert_int_equal (append (&journal, 0), 0);
    assert_int_equal (append (&journal, 1), 0);
    assert_int_equal (finish (&journal), 0);
    assert_int_equal (count_blocks (fd), 2);
    close (fd);
  }
}

/* Leaves that are appended after the image has changed are not written, even if
 * they are more than the journal keeps in memory.
 */
static void
test_changed (void **state)
{
  struct journal journal;
  unsigned round;
  uint64_t i, count;

  (void) state;
  for (round = 0; round < 2; round++) {
    int fd = temporary ();

    busy = round == 0;
    changed = false;
    start (&journal, fd);
    for (i = 0; i < 9000; i++)
      assert_int_equal (append (&journal, i), 0);
    __atomic_store_n (&changed, true, __ATOMIC_RELAXED);
    while (append (&journal, i) == 0)
      i++;
    assert_string_equal (reason.text, "it changed");
    assert_int_equal (finish (&journal), -1);
    assert_string_equal (reason.text, "it changed");
    count = count_blocks (fd);
    /* Unless BUSY, 8192 blocks (MAX_PENDING) were written before the change. */
    assert_true (count <= 9000 && (busy || count >= 8000));
    close (fd);
  }
  changed = false;
}

static void
test_errors (void **state)
{
  struct journal journal;
  int fd = temporary ();
  uint64_t i;

  (void) state;
  /* After a sync has failed, the next append fails. */
  busy = true;
  sync_error = EIO;
  start (&journal, fd);
  for (i = 0; append (&journal, i) == 0; i++)
    ;
  assert_non_null (strstr (reason.text, strerror (EIO)));
  assert_int_equal (finish (&journal), -1);
  assert_non_null (strstr (reason.text, strerror (EIO)));
  sync_error = 0;

  /* A leaf that is out of order is refused, and so are all later ones. */
  busy = false;
  start (&journal, fd);
  assert_int_equal (append (&journal, 0), 0);
  assert_int_equal (append (&journal, 5), -1);
  assert_int_equal (append (&journal, 1), -1);
  assert_int_equal (finish (&journal), -1);
  assert_non_null (strstr (reason.text, strerror (EINVAL)));

  /* The file cannot be written. */
  close (fd);
  fd = open ("/dev/full", O_WRONLY);
  start (&journal, fd);
  assert_int_equal (finish (&journal), -1);
  assert_non_null (strstr (reason.text, strerror (ENOSPC)));
  close (fd);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_busy),
    cmocka_unit_test (test_stopped_at_once),
    cmocka_unit_test (test_changed),
    cmocka_unit_test (test_errors),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
