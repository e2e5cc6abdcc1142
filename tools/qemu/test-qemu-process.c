/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test how other programs are run: their output, the errors if they fail, what
 * they inherit, and that they die with their parent.
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

#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include <cmocka.h>

#include "qemu/qemu.h"
#include "util/error.h"

static char *
run (const char *script, char **messages, struct error *error)
{
  char *argv[] = { "sh", "-c", (char *) script, NULL };
  char *output = NULL;

  error->text[0] = '\0';
  if (process_run (argv, &output, messages, error) == 0) {
    assert_null (*messages);
    return output;
  }
  assert_true (error_is_set (error));
  return NULL;
}

static void
assert_prints (const char *script, const char *expected)
{
  struct error error;
  char *messages, *output = run (script, &messages, &error);

  assert_non_null (output);
  assert_string_equal (output, expected);
  free (output);
}

static void
assert_says (const char *script, const char *expected)
{
  struct error error;
  char *messages;

  assert_null (run (script, &messages, &error));
  assert_non_null (messages);
  assert_string_equal (messages, expected);
  free (messages);
}

static void
assert_fails (const char *script, const char *expected)
{
  struct error error;
  char *messages;

  assert_null (run (script, &messages, &error));
  assert_null (messages);
  assert_string_equal (error.text, expected);
}

static void
test_output (void **state)
{
  (void) state;

  assert_prints ("exit 0", "");
  assert_prints ("echo out; echo err >&2", "out\n");
  assert_prints ("cat", "");    /* no input */
}

static void
test_large_output (void **state)
{
  struct error error;
  char *messages, *output = run ("head -c 10000000 /dev/zero | tr '\\0' a; "
                                 "head -c 1000000 /dev/zero >&2", &messages,
                                 &error);

  (void) state;

  assert_non_null (output);
  assert_int_equal (strlen (output), 10000000);
  free (output);
  assert_fails ("exec cat /dev/zero",
                "cannot read the output of sh: File too large");
}

static void
test_failures (void **state)
{
  char *missing[] = { "blkhash-no-such-program", NULL };
  char *directory[] = { "/", NULL };
  struct error error = { "" };
  char *output, *messages;

  (void) state;

  assert_says ("echo sh: no luck: really >&2; exit 1",
               "sh: no luck: really\n");
  assert_says ("printf 'one\\ntwo' >&2; exit 3", "one\ntwo");
  assert_says ("echo not there >&2; exit 127", "not there\n");
  assert_fails ("exit 1", "sh failed");
  assert_fails ("kill -9 $$", "sh was killed by signal 9");

  assert_int_equal (process_run (missing, &output, &messages, &error), -1);
  assert_null (messages);
  assert_non_null (strstr (error.text, "is not installed"));
  error.text[0] = '\0';
  assert_int_equal (process_run (directory, &output, &messages, &error), -1);
  assert_null (messages);
  assert_string_equal (error.text, "/ cannot be run");
}

/* The program inherits no open file, and SIGPIPE is not ignored in it.  Of all
 * signals only SIGUSR1 is blocked, see qemu.h.
 */
static void
test_inherited (void **state)
{
  char *mask[] = { "grep", "SigBlk", "/proc/self/status", NULL };
  struct error error = { "" };
  char *output, *messages;
  sigset_t all, before;
  int fd = open ("/", O_RDONLY);

  (void) state;

  if (access ("/proc/self/fd", F_OK) == -1)
    skip ();
  fd = dup2 (fd, 77);
  assert_int_equal (fd, 77);
  sigfillset (&all);
  sigprocmask (SIG_SETMASK, &all, &before);
  signal (SIGPIPE, SIG_IGN);
  assert_prints ("test -e /proc/self/fd/77 || echo closed", "closed\n");
  assert_int_equal (process_run (mask, &output, &messages, &error), 0);
  assert_string_equal (output, "SigBlk:\t0000000000000200\n");
  free (output);
  assert_fails ("kill -s PIPE $$; echo ignored >&2",
                "sh was killed by signal 13");
  signal (SIGPIPE, SIG_DFL);
  sigprocmask (SIG_SETMASK, &before, NULL);
  close (fd);
}

#ifdef SYS_close_range

#define NO_FILTER 77            /* exit status */
#define MAX_FD 1024

/* Make close_range and fcntl F_SETFD fail, as the seccomp filter of a container
 * can do.  Returns false if that is not possible.
 */
static bool
forbid_close_on_exec (void)
{
  struct sock_filter filter[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 4, 0),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 2),
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS,
              offsetof (struct seccomp_data, args[1]) +
              (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, F_SETFD, 1, 0),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
  };
  struct sock_fprog program = {
    .len = sizeof filter / sizeof filter[0], .filter = filter,
  };

  return prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
    prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void count_pipes (void) __attribute__ ((noreturn));

/* Exit with the number of pipes that a program inherits.  Descriptors from
 * MAX_FD on are not counted, because valgrind uses them for its own pipes.
 */
static void
count_pipes (void)
{
  char *list[] = { "ls", "-l", "/proc/self/fd", NULL };
  struct error error = { "" };
  char *messages, *output;
  int count = 0;

  for (int fd = 3; fd < MAX_FD; fd++)
    fcntl (fd, F_SETFD, FD_CLOEXEC);
  if (!forbid_close_on_exec ())
    _exit (NO_FILTER);
  if (process_run (list, &output, &messages, &error) == 0)
    for (char *line = strtok (output, "\n"); line; line = strtok (NULL, "\n")) {
      const char *arrow = strstr (line, " -> pipe:"), *number = arrow;

      while (number && number[-1] != ' ')
        number--;
      count += number && atoi (number) < MAX_FD;
    }
  _exit (count);
}

#endif

/* A program inherits only the pipes that are its stdout and stderr, even if it
 * is not possible to mark descriptors close-on-exec after they were opened.
 */
static void
test_pipes (void **state)
{
#ifdef SYS_close_range
  int status;
  pid_t pid;

  (void) state;

  if (access ("/proc/self/fd", F_OK) == -1)
    skip ();
  pid = fork ();
  if (pid == 0)
    count_pipes ();
  waitpid (pid, &status, 0);
  assert_true (WIFEXITED (status));
  if (WEXITSTATUS (status) == NO_FILTER)
    skip ();
  assert_int_equal (WEXITSTATUS (status), 2); /* stdout, stderr */
#else
  (void) state;
  skip ();
#endif
}

/* The program dies when its parent is killed. */
static void
test_parent_death (void **state)
{
  char dir[] = "/tmp/blkhash-test-XXXXXX", fifo[64], script[128];
  char byte;
  int fd;
  pid_t pid;

  (void) state;

#ifndef HAVE_SYS_PRCTL_H
  skip ();
#endif
  assert_non_null (mkdtemp (dir));
  snprintf (fifo, sizeof fifo, "%s/fifo", dir);
  snprintf (script, sizeof script, "exec >%s; echo; exec sleep 1000", fifo);
  assert_int_equal (mkfifo (fifo, 0600), 0);
  pid = fork ();
  if (pid == 0) {
    struct error error;
    char *messages;

    run (script, &messages, &error);
    _exit (1);
  }
  fd = open (fifo, O_RDONLY);
  assert_int_equal (read (fd, &byte, 1), 1); /* it runs */
  kill (pid, SIGKILL);
  waitpid (pid, NULL, 0);
  alarm (300);
  assert_int_equal (read (fd, &byte, 1), 0); /* it is gone */
  alarm (0);
  close (fd);
  unlink (fifo);
  rmdir (dir);
}

/* ---- The first program that can be run ---- */

static const int *execve_errors;        /* of the next calls, or NULL */

int __real_execve (const char *path, char *const argv[], char *const env[]);
int __wrap_execve (const char *path, char *const argv[], char *const env[]);

int
__wrap_execve (const char *path, char *const argv[], char *const env[])
{
  if (!execve_errors)
    return __real_execve (path, argv, env);
  errno = *execve_errors++;
  return -1;
}

static void
assert_exec_fails (const int *errors, int expected, size_t calls)
{
  char *argv[] = { "program", NULL };

  execve_errors = errors;
  process_exec ("/a/program\0/b/program\0", argv, argv + 1);
  assert_int_equal (errno, expected);
  assert_ptr_equal (execve_errors, errors + calls);
  execve_errors = NULL;
}

/* A directory of PATH that is on a dead file system is as one without the
 * program; another error is that of the program.
 */
static void
test_search (void **state)
{
  static const int passed[] = { ENOENT, ENOTDIR, ESTALE, ENODEV, ETIMEDOUT };

  (void) state;
  for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
    assert_exec_fails ((int[]) { passed[i], ENOENT }, ENOENT, 2);
  assert_exec_fails ((int[]) { EACCES, ENOENT }, EACCES, 2);
  assert_exec_fails ((int[]) { ENOEXEC }, ENOEXEC, 1);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_output),
    cmocka_unit_test (test_large_output),
    cmocka_unit_test (test_failures),
    cmocka_unit_test (test_inherited),
    cmocka_unit_test (test_pipes),
    cmocka_unit_test (test_parent_death),
    cmocka_unit_test (test_search),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
