/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: the result file.  At each write, sync and rename, a reader reads
 * the file, or the call fails.  The lines have at most RESULT_MAX bytes.  A
 * file that cannot be examined is neither ours nor not ours.
 */

#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash.h"
#include "blkhash/test-locks.h"
#include "blkhash/test-nbdkit.h"
#include "common/result-file.h"

#define DIGITS 64
#define LINE 500                /* bytes of a line; the last one has more */
#define HEADER "# this is a test\n"
#define TOO_LONG "# unknown *: the lines of all exports exceed 1 MiB\n"

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char path[sizeof directory + 5];
static struct blkhash_opts *hash;

/* The lines now, and before the last change. */
static char now[RESULT_MAX + 2], before[RESULT_MAX + 2];

/* Set NOW to lines of LEN bytes in total, with the sum SUM. */
static void
set_lines (size_t len, int sum)
{
  size_t start;
  char text[DIGITS + 3];

  memcpy (before, now, sizeof now);
  memset (now, 'n', len);
  sprintf (text, "%0*x  ", DIGITS, sum);
  for (start = 0; start + 2 * LINE <= len; start += LINE) {
    memcpy (now + start, text, DIGITS + 2);
    now[start + LINE - 1] = '\n';
  }
  memcpy (now + start, text, DIGITS + 2);
  now[len - 1] = '\n';
  now[len] = '\0';
}

static bool
file_has (const char *header, const char *lines)
{
  static char text[sizeof HEADER + RESULT_MAX + 2];
  FILE *f = fopen (path, "r");
  size_t len = f ? fread (text, 1, sizeof text - 1, f) : 0;

  if (f)
    fclose (f);
  text[len] = '\0';
  return strncmp (text, header, strlen (header)) == 0 &&
    strcmp (text + strlen (header), lines) == 0;
}

static void
assert_is_ours (void)
{
  int fd = open (path, O_RDONLY);

  assert_true (fd != -1 && result_file_examine (fd, NULL) == FILE_OURS);
  close (fd);
}

static void
test_limit (void **state)
{
  (void) state;
  set_lines (RESULT_MAX, 1);
  result_file_write (now);
  assert_true (file_has (HEADER, now));
  assert_is_ours ();
  set_lines (RESULT_MAX + 1, 2);
  result_file_write (now);
  assert_true (file_has (HEADER, TOO_LONG));
  assert_is_ours ();
  set_lines (1000, 3);
  result_file_write (now);
  assert_true (file_has (HEADER, now));
}

/* A file with one line is ours only if all of the line is a sum of the default
 * export; HEX stands for its digits.
 */
static void
test_one_line (void **state)
{
  static const struct {
    const char *before, *after;
    int digits;
    bool ours;
  } lines[] = {
    { "", "  -\n", DIGITS, true },
    { "", "  -\n", DIGITS - 1, false },
    { "", "  -\n", DIGITS + 1, false },
    { "", " *-\n", DIGITS, false },
    { "", "  other\n", DIGITS, false },
    { "blk-sha256/64k (-) = ", "\n", DIGITS, true },
    { "blk-sha256/64k (-) = ", "\n", DIGITS - 1, false },
    { "blk-sha256/64k (-) = ", "\n", DIGITS + 1, false },
    { "blk-sha256/64k (-) = x", "\n", DIGITS - 1, false },
    { "blk-sha256/64k (-) - ", "\n", DIGITS, false },
    { "blk-sha256/64k [-) = ", "\n", DIGITS, false },
    { "blk-sha256/64k (-) = ", "", DIGITS, false },
    { "blk-sha256/64k (", "\n", 0, false },
    { "blk-sha256/64k (", "\n", DIGITS, false },
    { "blk-sha256/4k (-) = ", "\n", DIGITS, false },
    { "blk-sha256/64k (-) = ", "\ntext\n", DIGITS, false },
    { "", "\n", 0, false },
  };

  (void) state;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    FILE *f = tmpfile ();

    fprintf (f, "%s%.*s%s", lines[i].before, lines[i].digits,
             "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0",
             lines[i].after);
    rewind (f);
    if ((result_file_examine (fileno (f), NULL) == FILE_OURS) !=
        lines[i].ours)
      fail_msg ("line %zu: %s", i, lines[i].ours ? "not ours" : "ours");
    fclose (f);
  }
}

static unsigned calls;

static int
check_both (const char *call)
{
  (void) call;
  calls++;
  on_file_call = NULL;
  assert_true (file_has (HEADER, before) || file_has (HEADER, now));
  assert_is_ours ();
  on_file_call = check_both;
  return 0;
}

static void
test_readers (void **state)
{
  int i;

  (void) state;
  for (i = 0; i < 20; i++) {
    set_lines (1000 + 5000 * i, i);
    on_file_call = check_both;
    result_file_write (now);
    on_file_call = NULL;
    assert_true (file_has (HEADER, now));
  }
  assert_true (calls >= 60);
}

static unsigned fail_at;

/* Write new lines while FAIL is called.  Returns false if there are at most
 * FAIL_AT calls.
 */
static bool
write_and_fail (int (*fail) (const char *call))
{
  set_lines (1000, 4);
  result_file_write (now);
  set_lines (1000, 5);
  calls = 0;
  on_file_call = fail;
  result_file_write (now);
  on_file_call = NULL;
  return calls > fail_at;
}

static int
fail_once (const char *call)
{
  (void) call;
  return calls++ == fail_at ? EIO : 0;
}

/* After an error no line is left, and the next change writes all lines. */
static void
test_failures (void **state)
{
  unsigned reported = errors_reported ();

  (void) state;
  for (fail_at = 0; write_and_fail (fail_once); fail_at++) {
    assert_true (errors_reported () > reported);
    reported = errors_reported ();
    assert_true (file_has ("", ""));
  }
  assert_true (fail_at >= 4);
}

static unsigned
count_descriptors (void)
{
  DIR *dir = opendir ("/proc/self/fd");
  unsigned count = 0;

  if (!dir)                     /* not Linux */
    return 0;
  while (readdir (dir))
    count++;
  closedir (dir);
  return count;
}

static int
fail_from (const char *call)
{
  (void) call;
  return calls++ >= fail_at ? EIO : 0;
}

/* If the file can be neither replaced nor emptied, it is removed.  No
 * descriptor stays open.
 */
static void
test_failures_for_ever (void **state)
{
  unsigned open = count_descriptors ();

  (void) state;
  for (fail_at = 0; write_and_fail (fail_from); fail_at++) {
    assert_int_equal (access (path, F_OK), -1);
    result_file_write (now);
    assert_true (file_has (HEADER, now));
    assert_int_equal (count_descriptors (), open);
  }
  assert_true (fail_at >= 4);
}

/* ---- A file that cannot be examined ---- */

static unsigned malloc_fails;   /* which of the next mallocs fails; 0: none */

void *__real_malloc (size_t len);
void *__wrap_malloc (size_t len);

void *
__wrap_malloc (size_t len)
{
  if (malloc_fails == 0 || --malloc_fails > 0)
    return __real_malloc (len);
  errno = ENOMEM;
  return NULL;
}

/* Each malloc fails in turn.  Returns how many there are. */
static unsigned
fail_each_malloc (const char *text)
{
  FILE *f = fopen (path, "w");
  unsigned i = 0;
  enum file_origin origin;
  int fd;

  assert_true (f && fputs (text, f) != EOF && fclose (f) != EOF);
  do {
    fd = open (path, O_RDONLY);
    malloc_fails = ++i;
    origin = result_file_examine (fd, NULL);
    assert_int_equal (origin, malloc_fails > 0 ? FILE_OURS : FILE_UNEXAMINED);
    assert_true (origin == FILE_OURS || errno == ENOMEM);
    close (fd);
  } while (malloc_fails == 0);
  malloc_fails = 0;
  return i - 1;
}

static void
test_not_examined (void **state)
{
  int fd = open (directory, O_RDONLY);
  char line[200];

  (void) state;
  assert_int_equal (result_file_examine (fd, NULL), FILE_UNEXAMINED);
  assert_int_equal (errno, EISDIR);
  close (fd);
  assert_int_equal (result_file_examine (-1, NULL), FILE_UNEXAMINED);
  assert_int_equal (errno, EBADF);

  sprintf (line, "%0*x  -\n", DIGITS, 1);
  assert_true (fail_each_malloc (line) >= 2);
  sprintf (line, HEADER "blk-sha256/64k (a) = %0*x\n", DIGITS, 1);
  result_form.hash = NULL;
  assert_true (fail_each_malloc (line) >= 2);
  result_form.hash = hash;
}

static unsigned descriptors;    /* before the file was opened */

static int
set_up (void **state)
{
  (void) state;
  descriptors = count_descriptors ();
  if (!mkdtemp (directory))
    return -1;
  sprintf (path, "%s/sums", directory);
  hash = blkhash_opts_new ("sha256");
  result_form = (struct result_form) { .header = HEADER, .hash = hash };
  return hash && result_file_open ("blkhash-file", path, true) == 0 &&
    result_file_check () == 0 && result_file_start () == 0 ? 0 : -1;
}

/* The last test, because cmocka ignores an error of the tear-down.  rmdir
 * checks that no temporary file is left.
 */
static void
test_stop (void **state)
{
  (void) state;
  result_file_stop ();
  assert_int_equal (count_descriptors (), descriptors);
  blkhash_opts_free (hash);
  unlink (path);
  assert_int_equal (rmdir (directory), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_limit),
    cmocka_unit_test (test_one_line),
    cmocka_unit_test (test_readers),
    cmocka_unit_test (test_failures),
    cmocka_unit_test (test_failures_for_ever),
    cmocka_unit_test (test_not_examined),
    cmocka_unit_test (test_stop),
  };

  return cmocka_run_group_tests (tests, set_up, NULL);
}
