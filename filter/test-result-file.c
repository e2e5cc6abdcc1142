/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: a large result file.  At each write, sync and rename, a reader
 * reads the file, or the call fails.  An appended line is cut off after each
 * byte.  A file that cannot be examined is neither ours nor not ours.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash.h"

#include "result-file.h"
#include "result-lines.h"
#include "test-locks.h"
#include "test-nbdkit.h"

#define DIGITS 64
#define NAME 4096               /* bytes of a name */
#define LINES 2000
#define MAX_SMALL 65536         /* bytes, as in result-file.c */
#define HEADER "# this is a test\n"

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char path[sizeof directory + 5];
static struct blkhash_opts *hash;

/* The line of each name, now and before the last change.  N > 0: the sum N; 0:
 * no line; -1: incomplete.
 */
static int now[LINES], before[LINES];
static struct result_place places[LINES];
static unsigned nr_lines;

static char *
make_line (unsigned i, int what)
{
  char name[NAME + 1];
  char *line = NULL;

  memset (name, 'n', NAME);
  sprintf (name + NAME - 5, "%05u", i);
  if (what != 0 &&
      (what < 0 ? asprintf (&line, "# incomplete %s: why\n", name)
                : asprintf (&line, "%0*x  %s\n", DIGITS, what, name)) == -1)
    abort ();
  return line;
}

/* ---- A reader ---- */

static int seen[LINES][2];      /* at most two lines of each name */

/* Read the file into SEEN.  Returns the number of lines with names. */
static unsigned
read_file (void)
{
  FILE *f = fopen (path, "r");
  char *line = NULL, *end, *wanted;
  size_t size = 0;
  unsigned i, count = 0;
  int what;

  memset (seen, 0, sizeof seen);
  for (; f && getline (&line, &size, f) != -1; free (wanted)) {
    wanted = NULL;
    if (*line == '#' && strncmp (line, "# incomplete ", 13) != 0)
      continue;
    what = *line == '#' ? -1 : (int) strtol (line, NULL, 16);
    end = *line == '#' ? strstr (line, ": why") : strchr (line, '\n');
    assert_non_null (end);
    i = strtoul (end - 5, NULL, 10);
    assert_true (i < LINES);
    wanted = make_line (i, what);
    assert_string_equal (line, wanted);
    assert_int_equal (seen[i][1], 0);
    seen[i][seen[i][0] != 0] = what;
    count++;
  }
  free (line);
  if (f)
    fclose (f);
  return count;
}

static void
assert_has (const int *what)
{
  unsigned i;

  read_file ();
  for (i = 0; i < nr_lines; i++) {
    assert_int_equal (seen[i][0], what[i]);
    assert_int_equal (seen[i][1], 0);
  }
}

/* Check that each name has its old line, its new line, or both, all whole.  A
 * name can be without a line only if it had none before the change, or has none
 * after it.
 */
static void
assert_has_either (void)
{
  unsigned i, j;

  read_file ();
  for (i = 0; i < nr_lines; i++) {
    for (j = 0; j < 2; j++)
      assert_true (seen[i][j] == 0 || seen[i][j] == now[i] ||
                   seen[i][j] == before[i]);
    assert_true (seen[i][0] != 0 || now[i] == 0 || before[i] == 0);
  }
}

static void
assert_is_ours (void)
{
  int fd = open (path, O_RDONLY);
  struct stat st;

  assert_true (fd != -1 && fstat (fd, &st) == 0);
  assert_true (st.st_size == 0 || result_lines_are_ours (fd) == 1);
  close (fd);
}

/* ---- Changes ---- */

static void
free_texts (struct result_change *changes, unsigned count)
{
  while (count > 0)
    free (changes[--count].text);
}

static void
update (bool sync)
{
  struct result_change changes[LINES];
  unsigned i, count = 0;

  for (i = 0; i < nr_lines; i++)
    if (now[i] != before[i])
      changes[count++] = (struct result_change) {
        &places[i], make_line (i, now[i])
      };
  if (!result_file_takes_changes () ||
      !result_file_change (changes, count, sync)) {
    free_texts (changes, count);
    for (count = 0; count < nr_lines; count++)
      changes[count] = (struct result_change) {
        &places[count], make_line (count, now[count])
      };
    result_file_replace (changes, count, sync);
  }
  free_texts (changes, count);
}

static void
set_line (unsigned i, int what, bool sync)
{
  memcpy (before, now, sizeof now);
  now[i] = what;
  update (sync);
}

/* Write a new file, in which COUNT names have a line. */
static void
start (unsigned count)
{
  unsigned i;

  nr_lines = count;
  memset (before, 0, sizeof before);
  memset (places, 0, sizeof places);
  for (i = 0; i < count; i++)
    now[i] = 1;
  result_file_replace (NULL, 0, true);
  update (true);
  assert_has (now);
}

/* Change a few lines at random. */
static void
change_some (unsigned *seed)
{
  unsigned i, count = 1 + rand_r (seed) % 4;

  memcpy (before, now, sizeof now);
  while (count-- > 0) {
    i = rand_r (seed) % nr_lines;
    now[i] = rand_r (seed) % 3 ? 2 + rand_r (seed) % 1000
                               : -(rand_r (seed) % 2);
  }
}

/* ---- Tests ---- */

/* Each of many names gets a new line, twice. */
static void
test_cost (void **state)
{
  uint64_t max = NAME + DIGITS + 10, total;
  unsigned i, round;

  (void) state;
  start (LINES);
  for (round = 2; round < 4; round++) {
    file_bytes_written = 0;
    for (i = 0; i < LINES; i++)
      set_line (i, round, true);
    assert_has (now);
    /* Each new line is written once, and all replacements of the file together
     * write about as many bytes.  That is a factor of 2; the limit is 3.
     */
    total = file_bytes_written;
    assert_true (total <= 3 * max * LINES);
  }
  start (LINES);
  file_bytes_written = 0;
  set_line (LINES / 2, 5, true);
  assert_true (file_bytes_written <= max + 10);
  file_bytes_written = 0;
  set_line (LINES / 2, 0, true);
  assert_int_equal (file_bytes_written, 1);
  assert_has (now);
}

static unsigned calls;

static int
check_both (const char *call)
{
  (void) call;
  calls++;
  on_file_call = NULL;
  assert_has_either ();
  assert_is_ours ();
  on_file_call = check_both;
  return 0;
}

static void
test_readers (void **state)
{
  unsigned seed = 1, i;

  (void) state;
  start (30);
  for (i = 0; i < 200; i++) {
    change_some (&seed);
    on_file_call = check_both;
    update (rand_r (&seed) % 2);
    on_file_call = NULL;
    assert_has (now);
    assert_is_ours ();
  }
  assert_true (calls > 200);
}

static unsigned fail_at;

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
  unsigned i, reported;

  (void) state;
  for (fail_at = 0; ; fail_at++) {
    start (30);
    memcpy (before, now, sizeof now);
    for (i = 0; i < 6; i++)
      now[i] = i < 3 ? 0 : 7;
    assert_true (result_file_takes_changes ());
    calls = 0;
    reported = errors_reported ();
    on_file_call = fail_once;
    update (true);
    on_file_call = NULL;
    if (calls <= fail_at)
      break;
    assert_true (errors_reported () > reported);
    assert_int_equal (read_file (), 0);
    set_line (10, 9, true);
    assert_has (now);
  }
  assert_true (fail_at > 8);
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

/* All calls from a certain one on fail, so the file can be neither changed nor
 * emptied: it is removed.  No descriptor stays open.
 */
static void
test_failures_for_ever (void **state)
{
  unsigned open = count_descriptors ();

  (void) state;
  for (fail_at = 0; ; fail_at++) {
    start (30);
    memcpy (before, now, sizeof now);
    now[0] = 7;
    assert_true (result_file_takes_changes ());
    calls = 0;
    on_file_call = fail_from;
    update (true);
    on_file_call = NULL;
    if (calls <= fail_at)
      break;
    assert_int_equal (access (path, F_OK), -1);
    set_line (10, 9, true);
    assert_has (now);
    assert_int_equal (count_descriptors (), open);
  }
  assert_true (fail_at > 2);
}

/* Another program has removed or changed the file. */
static void
test_others (void **state)
{
  FILE *f;

  (void) state;
  start (30);
  assert_int_equal (unlink (path), 0);
  set_line (1, 2, false);
  assert_has (now);

  start (30);
  f = fopen (path, "a");
  assert_true (f && fputs ("x\n", f) != EOF && fclose (f) != EOF);
  set_line (1, 2, false);
  assert_has (now);
}

/* The file shrinks and grows.  A small file has only valid lines, without the
 * prefixes that result-file.c describes.
 */
static void
test_sizes (void **state)
{
  unsigned i;
  char *line;
  struct stat st;

  (void) state;
  start (30);
  for (i = 1; i < 30; i++) {
    set_line (i, 0, true);
    assert_has (now);
    assert_is_ours ();
  }
  assert_int_equal (stat (path, &st), 0);
  line = make_line (0, 1);
  assert_int_equal (st.st_size, strlen (HEADER) + strlen (line));
  free (line);
  for (i = 1; i < 30; i++) {
    set_line (i, 3, true);
    assert_has (now);
    assert_is_ours ();
  }
  assert_int_equal (stat (path, &st), 0);
  assert_true (st.st_size > MAX_SMALL);
}

/* An appended line with the prefix "##" is ignored, wherever a crash cuts it
 * off.
 */
static void
test_cut_off (void **state)
{
  char *line = make_line (4, 2), *p;
  int fd;

  (void) state;
  start (30);
  fd = open (path, O_WRONLY | O_APPEND);
  assert_true (fd != -1 && write (fd, "#", 1) == 1);
  assert_is_ours ();
  assert_int_equal (write (fd, "#", 1), 1);
  for (p = line; *p; p++) {
    assert_int_equal (write (fd, p, 1), 1);
    assert_has (now);
    assert_is_ours ();
  }
  close (fd);
  free (line);
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
  int fd, r;

  assert_true (f && fputs (text, f) != EOF && fclose (f) != EOF);
  do {
    fd = open (path, O_RDONLY);
    malloc_fails = ++i;
    r = result_lines_are_ours (fd);
    assert_int_equal (r, malloc_fails > 0 ? 1 : -1);
    assert_true (r == 1 || errno == ENOMEM);
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
  assert_int_equal (result_lines_are_ours (fd), -1);
  assert_int_equal (errno, EISDIR);
  close (fd);
  assert_int_equal (result_lines_are_ours (-1), -1);
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

/* rmdir checks that no temporary file is left. */
static int
tear_down (void **state)
{
  (void) state;
  result_file_stop ();
  if (count_descriptors () != descriptors)
    fail_msg ("descriptors stay open");
  blkhash_opts_free (hash);
  unlink (path);
  return rmdir (directory);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_cost),
    cmocka_unit_test (test_readers),
    cmocka_unit_test (test_failures),
    cmocka_unit_test (test_failures_for_ever),
    cmocka_unit_test (test_others),
    cmocka_unit_test (test_sizes),
    cmocka_unit_test (test_cut_off),
    cmocka_unit_test (test_not_examined),
  };

  return cmocka_run_group_tests (tests, set_up, tear_down);
}
