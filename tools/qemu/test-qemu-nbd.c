/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: how qemu-nbd is run.  A shell takes its place.  The functions that
 * are not async-signal-safe, and could wait for a lock that another thread held
 * during the fork, are wrapped: they fail in a child.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "qemu/qemu.h"
#include "util/error.h"

static pid_t test_pid;

static void
check_process (void)
{
  if (getpid () != test_pid)
    _exit (1);
}

/* ---- Wrapped functions ---- */

int __wrap_snprintf (char *text, size_t size, const char *format, ...);
int __wrap___snprintf_chk (char *text, size_t size, int flag, size_t room,
                           const char *format, ...);
char *__real_getenv (const char *name);
char *__wrap_getenv (const char *name);
char *__real_mkdtemp (char *path);
char *__wrap_mkdtemp (char *path);
int __real_execvp (const char *program, char *const argv[]);
int __wrap_execvp (const char *program, char *const argv[]);
void *__real_malloc (size_t size);
void *__wrap_malloc (size_t size);
void *__real_calloc (size_t count, size_t size);
void *__wrap_calloc (size_t count, size_t size);
void __real_free (void *bytes);
void __wrap_free (void *bytes);

int
__wrap_snprintf (char *text, size_t size, const char *format, ...)
{
  va_list args;
  int r;

  check_process ();
  va_start (args, format);
  r = vsnprintf (text, size, format, args);
  va_end (args);
  return r;
}

int
__wrap___snprintf_chk (char *text, size_t size, int flag, size_t room,
                       const char *format, ...)
{
  va_list args;
  int r;

  (void) flag; (void) room;
  check_process ();
  va_start (args, format);
  r = vsnprintf (text, size, format, args);
  va_end (args);
  return r;
}

char *
__wrap_getenv (const char *name)
{
  check_process ();
  return __real_getenv (name);
}

char *
__wrap_mkdtemp (char *path)
{
  check_process ();
  return __real_mkdtemp (path);
}

int
__wrap_execvp (const char *program, char *const argv[])
{
  check_process ();
  return __real_execvp (program, argv);
}

void *
__wrap_malloc (size_t size)
{
  check_process ();
  return __real_malloc (size);
}

void *
__wrap_calloc (size_t count, size_t size)
{
  check_process ();
  return __real_calloc (count, size);
}

void
__wrap_free (void *bytes)
{
  check_process ();
  __real_free (bytes);
}

/* ---- Programs ---- */

static char dir[] = "/tmp/blkhash-test-XXXXXX";
static char tmp[64], bin[2][64], path[512];

/* Run PROGRAM with a script, and check that it prints EXPECTED to stderr. */
static void
check_runs (const char *program, const char *script, const char *expected)
{
  char *argv[] = { (char *) program, (char *) "-c", (char *) script, NULL };
  struct error error = { "" };
  struct qemu_nbd qemu;
  char text[200];
  size_t len = 0;
  ssize_t n;

  assert_int_equal (qemu_nbd_start (&qemu, argv, -1, &error), 0);
  while ((n = read (qemu.messages, text + len, sizeof text - 1 - len)) > 0)
    len += n;
  text[len] = '\0';
  assert_string_equal (text, expected);
  qemu_nbd_stop (&qemu);
  assert_int_equal (rmdir (tmp), 0); /* it is empty */
  assert_int_equal (mkdir (tmp, 0700), 0);
}

static void
check_fails (const char *program, const char *expected)
{
  char *argv[] = { (char *) program, NULL };
  struct error error = { "" };
  struct qemu_nbd qemu;

  assert_int_equal (qemu_nbd_start (&qemu, argv, -1, &error), -1);
  assert_string_equal (error.text, expected);
}

/* Write a script of this name to the directory I of PATH. */
static void
write_program (unsigned i, const char *name, const char *script, mode_t mode)
{
  char file[128];
  FILE *out;

  snprintf (file, sizeof file, "%s/%s", bin[i], name);
  out = fopen (file, "w");
  assert_non_null (out);
  fprintf (out, "#!/bin/sh\n%s\n", script);
  assert_int_equal (fclose (out), 0);
  assert_int_equal (chmod (file, mode), 0);
}

/* ---- Tests ---- */

static void
test_run (void **state)
{
  (void) state;
  assert_int_equal (setenv ("LISTEN_PID", "1", 1), 0);
  check_runs ("sh", "test $LISTEN_PID = $$ && echo $LISTEN_FDS >&2", "1\n");
  check_runs ("/bin/sh", "test -S /dev/fd/3 && echo socket >&2", "socket\n");
}

/* PATH is searched as by execvp. */
static void
test_path (void **state)
{
  (void) state;
  write_program (1, "a", "echo second >&2", 0700);
  check_runs ("a", "", "second\n");
  write_program (0, "a", "echo not executable >&2", 0600);
  check_runs ("a", "", "second\n");
  write_program (0, "a", "echo first >&2", 0700);
  check_runs ("a", "", "first\n");
  write_program (0, "b", "", 0600);
  check_fails ("b", "cannot start b: cannot run it: Permission denied");
  check_fails ("c",
               "cannot start c: not installed: No such file or directory");
  assert_int_equal (unsetenv ("PATH"), 0);
  check_runs ("sh", "echo default >&2", "default\n");
  assert_int_equal (setenv ("PATH", path, 1), 0);
}

static void
test_tmpdir (void **state)
{
  (void) state;
  assert_int_equal (setenv ("TMPDIR", "/dev/null", 1), 0);
  check_fails ("sh", "cannot start sh: cannot make a directory in TMPDIR or "
               "/tmp: Not a directory");
  assert_int_equal (setenv ("TMPDIR", "not-absolute", 1), 0);
  check_runs ("sh", "echo /tmp >&2", "/tmp\n");
  assert_int_equal (setenv ("TMPDIR", tmp, 1), 0);
}

static int
make_dirs (void **state)
{
  (void) state;
  test_pid = getpid ();
  assert_non_null (mkdtemp (dir));
  snprintf (tmp, sizeof tmp, "%s/tmp", dir);
  assert_int_equal (mkdir (tmp, 0700), 0);
  for (unsigned i = 0; i < 2; i++) {
    snprintf (bin[i], sizeof bin[i], "%s/bin%u", dir, i);
    assert_int_equal (mkdir (bin[i], 0700), 0);
  }
  snprintf (path, sizeof path, "%s/none:%s:%s:%s", dir, bin[0], bin[1],
            "/bin:/usr/bin");
  assert_int_equal (setenv ("TMPDIR", tmp, 1), 0);
  return setenv ("PATH", path, 1);
}

static int
remove_dirs (void **state)
{
  char command[128];

  (void) state;
  snprintf (command, sizeof command, "rm -r %s", dir);
  return system (command);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_run),
    cmocka_unit_test (test_path),
    cmocka_unit_test (test_tmpdir),
  };

  return cmocka_run_group_tests (tests, make_dirs, remove_dirs);
}
