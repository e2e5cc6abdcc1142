/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: replace a file, with and without a file system that can exchange
 * names.  Whatever another program puts at the path meanwhile is still there
 * afterwards, under one of the two names.
 *
 * The new file: with and without a name; what is synced, and before what; what
 * errors and signals leave; and a name that is given only if no file has it.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/replace.h"

#ifndef O_TMPFILE               /* not Linux */
#define O_TMPFILE 0x40000000
#endif

#define FROM "from"
#define PATH "path"
#define EXAMINED "examined"

static char directory[] = "/tmp/test-replace.XXXXXX";

/* ---- File systems ---- */

static int unsupported = EINVAL; /* if it cannot exchange */
static bool can_exchange, can_link, has_proc = true, has_unnamed = true;
static char calls[200];         /* that change names or sync, in order */
static const char *failing;     /* this call fails */
static int failing_errno;

/* Returns false if CALL fails. */
static bool
called (const char *call)
{
  assert_true (strlen (calls) + strlen (call) + 2 < sizeof calls);
  strcat (strcat (calls, " "), call);
  errno = failing_errno;
  return !failing || strcmp (call, failing) != 0;
}
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
    if (!called (flags == RENAME_EXCHANGE ? "exchange" : "no-replace"))
      return -1;
    call_before_rename ();
    return __real_renameat2 (dir, from, to_dir, to, flags);
  }
  errno = unsupported;
  return -1;
}
#endif

int __real_rename (const char *, const char *);
int __wrap_rename (const char *, const char *);

int
__wrap_rename (const char *from, const char *to)
{
  if (!called ("rename"))
    return -1;
  call_before_rename ();
  return __real_rename (from, to);
}

int __real_link (const char *, const char *);
int __wrap_link (const char *, const char *);

int
__wrap_link (const char *from, const char *to)
{
  call_before_rename ();
  if (can_link)
    return __real_link (from, to);
  errno = EPERM;
  return -1;
}

int __real_fsync (int);
int __wrap_fsync (int);

int
__wrap_fsync (int fd)
{
  struct stat st;

  assert_int_equal (fstat (fd, &st), 0);
  return called (S_ISDIR (st.st_mode) ? "sync-directory" : "sync")
    ? __real_fsync (fd) : -1;
}

int __real_linkat (int, const char *, int, const char *, int);
int __wrap_linkat (int, const char *, int, const char *, int);

int
__wrap_linkat (int dir, const char *from, int to_dir, const char *to, int flags)
{
  return called ("linkat") ? __real_linkat (dir, from, to_dir, to, flags) : -1;
}

/* It writes one byte. */
ssize_t __real_write (int, const void *, size_t);
ssize_t __wrap_write (int, const void *, size_t);

ssize_t
__wrap_write (int fd, const void *data, size_t len)
{
  return called ("write") ? __real_write (fd, data, len > 0) : -1;
}

int __real_access (const char *, int);
int __wrap_access (const char *, int);

int
__wrap_access (const char *name, int mode)
{
  errno = ENOENT;
  return has_proc ? __real_access (name, mode) : -1;
}

int __wrap_open (const char *, int, ...);

int
__wrap_open (const char *name, int flags, ...)
{
  bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  mode_t mode = 0;
  va_list args;

  if (is_unnamed || (flags & O_CREAT)) {
    va_start (args, flags);
    mode = va_arg (args, int);
    va_end (args);
  }
  if (!is_unnamed && (flags & O_DIRECTORY) && !called ("open-directory"))
    return -1;
  if (is_unnamed && !has_unnamed) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return openat (AT_FDCWD, name, flags, mode);
}

/* The name of open in programs with 64-bit offsets. */
int __wrap_open64 (const char *, int, ...)
  __attribute__ ((alias ("__wrap_open")));

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

/* How the next new files are created. */
static struct replacement how;

static struct replacement
open_new (void)
{
  struct replacement new = how;

  new.path = PATH;
  new.name = FROM;
  new.named = new.synced = true;
  assert_int_equal (replacement_open (&new), 0);
  assert_int_equal (replacement_write (&new, "new"), 0);
  calls[0] = '\0';
  return new;
}

static enum replace_result
publish (struct replacement *new, bool has_old)
{
  int old, err;
  enum replace_result r = replacement_publish (new, judge, NULL, &old);

  err = errno;
  if (r == REPLACE_DONE || r == REPLACE_NOT_SYNCED)
    assert_int_equal (old != -1, has_old);
  if (old != -1)
    close (old);
  errno = err;
  replacement_close (new);
  replacement_close (new);      /* does nothing */
  return r;
}

static enum replace_result
replace (const char *at_path)
{
  struct replacement new;

  unlink (FROM);
  unlink (PATH);
  if (at_path)
    create (PATH, at_path);
  new = open_new ();
  return publish (&new, at_path != NULL);
}

/* ---- Tests ---- */

static void
test_ours_or_not (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < 5; i++) {
    can_exchange = i == 0;
    can_link = i == 1;
    unsupported = i == 3 ? ENOSYS : i == 4 ? ENOTSUP : EINVAL;
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

  for (can_exchange = false; ; can_link = false) {
    before_rename = put_theirs;
    assert_int_equal (replace (NULL), REPLACE_FAILED);
    assert_int_equal (errno, EEXIST);
    assert_has (PATH, "theirs");
    assert_has (FROM, NULL);
    if (!can_link)
      break;
  }
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
  struct replacement new;
  struct stat st;

  (void) state;
  unlink (FROM);
  for (can_exchange = true; ; can_exchange = false) {
    unlink (PATH);
    assert_int_equal (mkdir (PATH, 0700), 0);
    new = open_new ();
    assert_int_equal (publish (&new, false), REPLACE_REFUSED);
    assert_int_equal (rmdir (PATH), 0);
    assert_has (FROM, NULL);

    assert_int_equal (symlink ("nothing", PATH), 0);
    new = open_new ();
    assert_int_equal (publish (&new, false), REPLACE_REFUSED);
    assert_int_equal (lstat (PATH, &st), 0);
    assert_true (S_ISLNK (st.st_mode));
    assert_has (FROM, NULL);
    if (!can_exchange)
      break;
  }
}

/* Without a judge no file is replaced, and none comes out for a moment. */
static void
test_no_judge (void **state)
{
  struct replacement new;
  int old;

  (void) state;
  for (unsigned i = 0; i < 3; i++) {
    can_exchange = i == 0;
    can_link = i == 1;
    unlink (PATH);
    new = open_new ();
    assert_int_equal (replacement_publish (&new, NULL, NULL, &old),
                      REPLACE_DONE);
    assert_int_equal (old, -1);
    replacement_close (&new);
    assert_has (PATH, "new");
    assert_has (FROM, NULL);

    for (unsigned j = 0; j < 2; j++) {
      unlink (PATH);
      if (j == 0)
        put_theirs ();
      before_rename = put_theirs;
      new = open_new ();
      assert_int_equal (replacement_publish (&new, NULL, NULL, &old),
                        REPLACE_FAILED);
      assert_int_equal (errno, EEXIST);
      assert_null (strstr (calls, "exchange"));
      replacement_close (&new);
      assert_has (PATH, "theirs");
      assert_has (FROM, NULL);
    }
  }
  before_rename = NULL;
}

/* ---- The new file ---- */

static bool
has_tmpfile (void)
{
  int fd = openat (AT_FDCWD, ".", O_TMPFILE | O_WRONLY, 0600);

  if (fd != -1)
    close (fd);
  return fd != -1;
}

/* The file has no name before it is published, if that is possible. */
static void
test_unnamed (void **state)
{
  struct replacement new;
  unsigned i;

  (void) state;
  can_exchange = can_link = true;
  for (i = 0; i < 8; i++) {
    unlink (PATH);
    has_proc = i & 1;
    has_unnamed = i & 2;
    how.unnamed = i & 4;
    new = open_new ();
    assert_has (FROM, i == 7 && has_tmpfile () ? NULL : "new");
    replacement_close (&new);
    assert_has (FROM, NULL);
    assert_has (PATH, NULL);

    assert_int_equal (replace ("ours"), REPLACE_DONE);
    assert_has (PATH, "new");
    assert_has (FROM, NULL);
  }
  how.unnamed = false;
}

/* Nothing gets a name before it is synced, and the directory is synced last. */
static void
test_order (void **state)
{
  struct replacement new;
  int fd = open (".", O_RDONLY | O_DIRECTORY);

  (void) state;
  can_exchange = can_link = true;
  how.directory = fd;
  assert_int_equal (replace ("ours"), REPLACE_DONE);
  assert_string_equal (calls, " sync exchange sync-directory");
  how.directory = -1;
  assert_int_equal (replace ("ours"), REPLACE_DONE);
  assert_string_equal (calls, " sync exchange open-directory sync-directory");
  how.directory = fd;
  assert_int_equal (replace ("theirs"), REPLACE_REFUSED);
  assert_string_equal (calls, " sync exchange exchange");

  how.examined = EXAMINED;
  assert_int_equal (replace ("ours"), REPLACE_DONE);
  assert_string_equal (calls, " sync rename exchange sync-directory");
  can_exchange = false;
  assert_int_equal (replace ("ours"), REPLACE_DONE);
  assert_string_equal (calls, " sync rename rename sync-directory");

  /* Once is enough, if nothing was written since. */
  create (PATH, "ours");
  new = open_new ();
  assert_int_equal (replacement_sync (&new), 0);
  assert_int_equal (publish (&new, true), REPLACE_DONE);
  assert_string_equal (calls, " sync rename rename sync-directory");
  create (PATH, "ours");
  new = open_new ();
  assert_int_equal (replacement_sync (&new), 0);
  assert_int_equal (replacement_write (&new, "er"), 0);
  assert_int_equal (publish (&new, true), REPLACE_DONE);
  assert_string_equal (calls, " sync write write sync rename rename "
                       "sync-directory");
  assert_has (PATH, "newer");
  how.examined = NULL;
  how.directory = -1;
  close (fd);
}

/* The file that was refused, and could not be put back, is at EXAMINED. */
static void
test_examined (void **state)
{
  (void) state;
  can_exchange = true;
  how.examined = EXAMINED;
  while_judging = put_more;
  assert_int_equal (replace ("theirs"), REPLACE_DISPLACED);
  while_judging = NULL;
  how.examined = NULL;
  assert_has (PATH, "more");
  assert_has (FROM, NULL);
  assert_has (EXAMINED, "theirs");
  assert_int_equal (unlink (EXAMINED), 0);
}

/* After an error there is the old file, or the new one as a whole. */
static void
test_errors (void **state)
{
  static const struct {
    const char *call;
    int err;
    enum replace_result result;
  } cases[] = {
    { "sync", EIO, REPLACE_FAILED },
    { "sync", EINVAL, REPLACE_FAILED },
    { "rename", EIO, REPLACE_FAILED },
    { "exchange", EIO, REPLACE_FAILED },
    { "linkat", EIO, REPLACE_FAILED }, /* only without a name */
    { "sync-directory", EIO, REPLACE_NOT_SYNCED },
    /* The file system cannot sync a directory. */
    { "sync-directory", EINVAL, REPLACE_DONE },
    { "sync-directory", ENOTSUP, REPLACE_DONE },
    { "open-directory", EIO, REPLACE_NOT_SYNCED },
    /* The user can create files in the directory, but not read it. */
    { "open-directory", EACCES, REPLACE_DONE },
  };
  size_t i;

  (void) state;
  can_exchange = can_link = true;
  how.examined = EXAMINED;
  /* A name that could not be given is not removed by a signal: the next file
   * can have one.
   */
  how.unnamed = how.unlink_on_signal = true;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (strcmp (cases[i].call, "linkat") == 0 && !has_tmpfile ())
      continue;
    failing = cases[i].call;
    failing_errno = cases[i].err;
    assert_int_equal (replace ("ours"), cases[i].result);
    if (cases[i].result != REPLACE_DONE)
      assert_int_equal (errno, cases[i].err);
    assert_has (PATH, cases[i].result == REPLACE_FAILED ? "ours" : "new");
    assert_has (FROM, NULL);
    assert_has (EXAMINED, NULL);
    failing = NULL;
  }
  how.examined = NULL;
  how.unnamed = how.unlink_on_signal = false;

  /* There was no file. */
  failing = "no-replace";
  failing_errno = EIO;
  assert_int_equal (replace (NULL), REPLACE_FAILED);
  assert_int_equal (errno, EIO);
  failing = NULL;
  assert_has (PATH, NULL);
  assert_has (FROM, NULL);
}

static void
test_write (void **state)
{
  struct replacement new = open_new ();

  (void) state;
  failing = "write";
  failing_errno = ENOSPC;
  assert_int_equal (replacement_write (&new, "er"), -1);
  assert_int_equal (errno, ENOSPC);
  failing = NULL;
  replacement_close (&new);
  assert_has (FROM, NULL);
}

/* Another program has removed the new file. */
static void
test_removed (void **state)
{
  struct replacement new;

  (void) state;
  create (PATH, "ours");
  new = open_new ();
  assert_int_equal (unlink (FROM), 0);
  assert_int_equal (publish (&new, true), REPLACE_FAILED);
  assert_int_equal (errno, ENOENT);
  assert_has (PATH, "ours");
}

/* The name is given only if no file has it. */
static void
test_link (void **state)
{
  struct replacement new;
  unsigned i;

  (void) state;
  can_link = true;
  for (i = 0; i < 2; i++) {
    how.unnamed = i;
    unlink (PATH);
    new = open_new ();
    assert_int_equal (replacement_link (&new), 0);
    assert_string_equal (calls, new.named ? " sync" : " sync linkat");
    replacement_close (&new);
    assert_has (PATH, "new");
    assert_has (FROM, NULL);

    create (PATH, "theirs");
    new = open_new ();
    assert_int_equal (replacement_link (&new), -1);
    assert_int_equal (errno, EEXIST);
    replacement_close (&new);
    assert_int_equal (errno, EEXIST);
    assert_has (PATH, "theirs");
    assert_has (FROM, NULL);

    unlink (PATH);
    failing = "sync";
    new = open_new ();
    assert_int_equal (replacement_link (&new), -1);
    replacement_close (&new);
    failing = NULL;
    assert_has (PATH, NULL);
  }
}

/* A file at the name is not ours, unless the user of the module knows that. */
static void
test_leftover (void **state)
{
  struct replacement new = { .path = PATH, .name = FROM, .mode = 0600 };

  (void) state;
  create (FROM, "left");
  assert_int_equal (replacement_open (&new), -1);
  assert_int_equal (errno, EEXIST);
  replacement_close (&new);
  assert_has (FROM, "left");
  assert_int_equal (replacement_remove_leftover (FROM), 0);
  assert_has (FROM, NULL);
  assert_int_equal (replacement_remove_leftover (FROM), 0);
  assert_int_equal (symlink ("nothing", FROM), 0);
  assert_int_equal (replacement_remove_leftover (FROM), -1);
  assert_int_equal (errno, EEXIST);
  assert_int_equal (unlink (FROM), 0);
  create (FROM, "a file");
  assert_int_equal (replacement_remove_leftover (FROM "/name"), -1);
  assert_int_equal (errno, ENOTDIR);
  assert_int_equal (unlink (FROM), 0);
}

/* ---- Signals ---- */

static int send_signal;

static void
raise_signal (void)
{
  raise (send_signal);
}

static void
ignore (int sig)
{
  (void) sig;
}

/* A process with DISPOSITION for the signals creates a file, and publishes it,
 * if PUBLISHES is set.  A signal arrives before that, or while names are
 * exchanged.  Returns the status of the process.
 */
static int
signalled (bool unlinks, bool publishes, void (*disposition) (int))
{
  pid_t pid = fork ();
  int status;

  if (pid == 0) {
    struct replacement new;

    signal (send_signal, disposition);
    how.unlink_on_signal = unlinks;
    how.unnamed = false;
    new = open_new ();
    if (!publishes)
      raise_signal ();
    before_rename = raise_signal;
    publish (&new, true);
    _exit (0);
  }
  assert_int_equal (waitpid (pid, &status, 0), pid);
  return status;
}

/* When the file is published or closed, a signal removes nothing: NAME can be
 * that of a file of others.
 */
static void
test_late_signal (void **state)
{
  pid_t pid = fork ();
  int status;

  (void) state;
  can_exchange = can_link = true;
  if (pid == 0) {
    struct replacement new;
    unsigned i;

    how.unlink_on_signal = true;
    for (i = 0; i < 2; i++) {
      how.unnamed = i;
      assert_int_equal (replace ("ours"), REPLACE_DONE);
      new = open_new ();
      replacement_close (&new);
      create (FROM, "theirs");
      how.unnamed = false;
      new = how;
      new.path = PATH;
      new.name = FROM;
      assert_int_equal (replacement_open (&new), -1);
    }
    raise (SIGTERM);
  }
  assert_int_equal (waitpid (pid, &status, 0), pid);
  assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGTERM);
  assert_has (PATH, "new");
  assert_has (FROM, "theirs");
  assert_int_equal (unlink (FROM), 0);
}

static void
test_signals (void **state)
{
  static const int all[] = { SIGHUP, SIGINT, SIGTERM };
  int status;
  size_t i;

  (void) state;
  can_exchange = true;
  for (i = 0; i < sizeof all / sizeof all[0]; i++) {
    send_signal = all[i];
    create (PATH, "ours");
    status = signalled (true, false, SIG_DFL);
    assert_true (WIFSIGNALED (status) && WTERMSIG (status) == send_signal);
    assert_has (PATH, "ours");
    assert_has (FROM, NULL);

    /* It ends the process after the exchange, and no name is left. */
    status = signalled (true, true, SIG_DFL);
    assert_true (WIFSIGNALED (status) && WTERMSIG (status) == send_signal);
    assert_has (PATH, "new");
    assert_has (FROM, NULL);

    /* Other handlers stay. */
    create (PATH, "ours");
    assert_int_equal (signalled (true, false, SIG_IGN), 0);
    assert_has (PATH, "new");
    create (PATH, "ours");
    assert_int_equal (signalled (true, false, ignore), 0);
    assert_has (PATH, "new");

    /* Another program has the signals: a filter in nbdkit. */
    create (PATH, "ours");
    status = signalled (false, false, SIG_DFL);
    assert_true (WIFSIGNALED (status));
    assert_has (FROM, "new");
    assert_int_equal (unlink (FROM), 0);
  }
}

/* ---- Set-up ---- */

static int first_fd;            /* that is free */

/* The last test.  cmocka ignores an error of the tear-down. */
static void
test_nothing_left (void **state)
{
  (void) state;
  assert_int_equal (dup (STDIN_FILENO), first_fd);
  close (first_fd);
  unlink (PATH);
  assert_int_equal (chdir ("/"), 0);
  assert_int_equal (rmdir (directory), 0);
}

static int
set_up (void **state)
{
  (void) state;
  first_fd = dup (STDIN_FILENO);
  close (first_fd);
  how = (struct replacement) { .directory = -1, .mode = 0600 };
  return mkdtemp (directory) ? chdir (directory) : -1;
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
    cmocka_unit_test (test_no_judge),
    cmocka_unit_test (test_unnamed),
    cmocka_unit_test (test_order),
    cmocka_unit_test (test_examined),
    cmocka_unit_test (test_errors),
    cmocka_unit_test (test_write),
    cmocka_unit_test (test_removed),
    cmocka_unit_test (test_link),
    cmocka_unit_test (test_leftover),
    cmocka_unit_test (test_signals),
    cmocka_unit_test (test_late_signal),
    cmocka_unit_test (test_nothing_left),
  };

#ifndef HAVE_RENAMEAT2
  return 77;
#endif
  return cmocka_run_group_tests (tests, set_up, NULL);
}
