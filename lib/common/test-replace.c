/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: replace a file, with and without a file system that can exchange
 * names.  Whatever another program puts at the path meanwhile is still there
 * afterwards, under one of the two names.
 */

#include <config.h>

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

#include "common/replace.h"

#define FROM "from"
#define PATH "path"

static char directory[] = "/tmp/test-replace.XXXXXX";

/* ---- File systems ---- */

static bool can_exchange, can_link;
static void (*before_rename) (void); /* called once, before a rename of any
                                      * kind */

static void
call_before_rename (void)
{
  void (*action) (void) = before_rename;

  before_rename = NULL;
  if (action)
    action ();
}

#ifdef HAVE_RENAMEAT2
int __real_renameat2 (int, const char *, int, const char *, unsigned);
int __wrap_renameat2 (int, const char *, int, const char *, unsigned);

int
__wrap_renameat2 (int dir, const char *from, int to_dir, const char *to,
                  unsigned flags)
{
  if (can_exchange) {
    call_before_rename ();
    return __real_renameat2 (dir, from, to_dir, to, flags);
  }
  errno = EINVAL;
  return -1;
}
#endif

int __real_rename (const char *, const char *);
int __wrap_rename (const char *, const char *);

int
__wrap_rename (const char *from, const char *to)
{
  call_before_rename ();
  return __real_rename (from, to);
}

int __real_link (const char *, const char *);
int __wrap_link (const char *, const char *);

int
__wrap_link (const char *from, const char *to)
{
  if (can_link) {
    call_before_rename ();
    return __real_link (from, to);
  }
  errno = EPERM;
  return -1;
}

/* ---- Files ---- */

static void
create (const char *name, const char *text)
{
  FILE *f = fopen ("another", "w");

  assert_true (f && fputs (text, f) != EOF && fclose (f) != EOF);
  assert_int_equal (__real_rename ("another", name), 0);
}

static void
assert_has (const char *name, const char *text)
{
  char found[20] = "";
  FILE *f = fopen (name, "r");

  if (!text) {
    assert_null (f);
    return;
  }
  assert_non_null (f);
  assert_non_null (fgets (found, sizeof found, f));
  assert_string_equal (found, text);
  fclose (f);
}

static void (*while_judging) (void);

/* Files that begin with "ours" may be replaced. */
static int
judge (void *opaque, const char *path)
{
  int fd = open (path, O_RDONLY | O_NOFOLLOW);
  char start[4] = "";
  bool ours = fd != -1 && read (fd, start, 4) == 4 &&
    memcmp (start, "ours", 4) == 0;

  (void) opaque;
  if (fd == -1 && errno == ENOENT)
    return -1;
  if (while_judging)
    while_judging ();
  if (ours)
    return fd;
  if (fd != -1)
    close (fd);
  errno = EEXIST;
  return -1;
}

static enum replace_result
replace (const char *at_path)
{
  enum replace_result r;
  int old;

  unlink (FROM);
  unlink (PATH);
  if (at_path)
    create (PATH, at_path);
  create (FROM, "new");
  r = replace_file (FROM, PATH, judge, NULL, &old);
  if (r == REPLACE_DONE)
    assert_int_equal (old != -1, at_path != NULL);
  if (old != -1)
    close (old);
  return r;
}

/* ---- Tests ---- */

static void
test_ours_or_not (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < 3; i++) {
    can_exchange = i == 0;
    can_link = i == 1;
    assert_int_equal (replace (NULL), REPLACE_DONE);
    assert_has (PATH, "new");
    assert_has (FROM, NULL);
    assert_int_equal (replace ("ours"), REPLACE_DONE);
    assert_has (PATH, "new");
    assert_has (FROM, NULL);
    assert_int_equal (replace ("theirs"), REPLACE_REFUSED);
    assert_has (PATH, "theirs");
    assert_has (FROM, NULL);
  }
}

static void
put_theirs (void)
{
  create (PATH, "theirs");
}

/* Another file is put at the path after any check that the caller has made. */
static void
test_just_before (void **state)
{
  (void) state;
  can_exchange = true;
  before_rename = put_theirs;
  assert_int_equal (replace ("ours"), REPLACE_REFUSED);
  assert_has (PATH, "theirs");
  assert_has (FROM, NULL);
}

/* The path does not exist, and then it does. */
static void
test_appears (void **state)
{
  (void) state;
  can_exchange = can_link = true;
  before_rename = put_theirs;
  assert_int_equal (replace (NULL), REPLACE_REFUSED);
  assert_has (PATH, "theirs");
  assert_has (FROM, NULL);

  can_exchange = false;
  before_rename = put_theirs;
  assert_int_equal (replace (NULL), REPLACE_FAILED);
  assert_int_equal (errno, EEXIST);
  assert_has (PATH, "theirs");
  assert_has (FROM, NULL);
}

static void
remove_path (void)
{
  assert_int_equal (unlink (PATH), 0);
}

static void
put_more (void)
{
  create (PATH, "more");
}

/* While the refused file is at the other name, another program removes ours, or
 * replaces it.
 */
static void
test_while_judging (void **state)
{
  (void) state;
  can_exchange = true;
  while_judging = remove_path;
  assert_int_equal (replace ("theirs"), REPLACE_REFUSED);
  assert_has (PATH, "theirs");
  assert_has (FROM, NULL);

  while_judging = put_more;
  assert_int_equal (replace ("theirs"), REPLACE_DISPLACED);
  assert_has (PATH, "more");
  assert_has (FROM, "theirs");

  /* The file that came out is ours: what is at the path now stays there. */
  assert_int_equal (replace ("ours"), REPLACE_DONE);
  assert_has (PATH, "more");
  assert_has (FROM, NULL);
  while_judging = NULL;
}

/* A directory or a symbolic link comes out, and goes back. */
static void
test_no_file (void **state)
{
  struct stat st;
  int old;

  (void) state;
  for (can_exchange = true; ; can_exchange = false) {
    unlink (PATH);
    assert_int_equal (mkdir (PATH, 0700), 0);
    create (FROM, "new");
    assert_int_equal (replace_file (FROM, PATH, judge, NULL, &old),
                      REPLACE_REFUSED);
    assert_int_equal (rmdir (PATH), 0);
    assert_has (FROM, NULL);

    assert_int_equal (symlink ("nothing", PATH), 0);
    create (FROM, "new");
    assert_int_equal (replace_file (FROM, PATH, judge, NULL, &old),
                      REPLACE_REFUSED);
    assert_int_equal (lstat (PATH, &st), 0);
    assert_true (S_ISLNK (st.st_mode));
    assert_has (FROM, NULL);
    if (!can_exchange)
      break;
  }
}

static int
set_up (void **state)
{
  (void) state;
  return mkdtemp (directory) ? chdir (directory) : -1;
}

static int
tear_down (void **state)
{
  (void) state;
  unlink (FROM);
  unlink (PATH);
  return chdir ("/") == 0 ? rmdir (directory) : -1;
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_ours_or_not),
    cmocka_unit_test (test_just_before),
    cmocka_unit_test (test_appears),
    cmocka_unit_test (test_while_judging),
    cmocka_unit_test (test_no_file),
  };

#ifndef HAVE_RENAMEAT2
  return 77;
#endif
  return cmocka_run_group_tests (tests, set_up, tear_down);
}
