/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Run a program, and make an error of the messages of one of qemu: see qemu.h.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_SYS_PRCTL_H
#include <sys/prctl.h>
#endif

#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "qemu/qemu.h"
#include "util/error.h"

#define MAX_STDOUT (16 << 20)   /* bytes; more is an error */
#define MAX_STDERR 16384        /* bytes; the rest is dropped */

/* The maximum number of descriptors to set to close-on-exec one by one.  The
 * limit of open files can be a billion.
 */
#define MAX_FDS 65536

/* Exit status of the child when the program could not be run, as in sh. */
#define NOT_RUNNABLE 126
#define NOT_FOUND 127

/* ---- In the child ---- */

/* A lock that another thread of the parent held during the fork, such as that
 * of malloc, is never released in the child.  So only async-signal-safe
 * functions are called here (see signal-safety(7)); snprintf and execvp are
 * not.
 */

static void fail (int status, const char *what, int exit_status)
  __attribute__ ((noreturn));

static void
fail (int status, const char *what, int exit_status)
{
  struct process_failure failure = { .err = errno, .what = what };
  ssize_t r;

  if (status != -1) {
    r = write (status, &failure, sizeof failure);
    (void) r;
  }
  _exit (exit_status);
}

/* Our own descriptors are opened with close-on-exec.  This is for descriptors
 * that were inherited.
 */
static void
set_close_on_exec (void)
{
  long end;

#ifdef CLOSE_RANGE_CLOEXEC
  if (close_range (3, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
    return;
#endif
  end = sysconf (_SC_OPEN_MAX);
  if (end == -1 || end > MAX_FDS)
    end = MAX_FDS;
  for (long fd = 3; fd < end; fd++)
    fcntl (fd, F_SETFD, FD_CLOEXEC);
}

/* Set what the program inherits, except for its descriptors, and die with the
 * parent.
 */
static void
prepare_child (pid_t parent)
{
  sigset_t blocked;

#ifdef HAVE_SYS_PRCTL_H
  prctl (PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (getppid () != parent)     /* the parent died before prctl */
    _exit (NOT_RUNNABLE);
  signal (SIGPIPE, SIG_DFL);
  sigemptyset (&blocked);
  sigaddset (&blocked, SIGUSR1);
  sigprocmask (SIG_SETMASK, &blocked, NULL);
  set_close_on_exec ();
}

/* Copy FD to a number without a fixed use, if it has another one.  fcntl fails
 * with EINVAL if the limit of descriptors does not allow such a number.
 */
static int
move_fd (const struct process *process, int fd)
{
  int moved = fd;

  if (fd < process->nr_fds)
    moved = fcntl (fd, F_DUPFD_CLOEXEC, process->nr_fds);
  if (moved == -1 && errno == EINVAL)
    errno = EMFILE;
  return moved;
}

static void
set_fds (const struct process *process, int status)
{
  int fds[PROCESS_FDS], null = open ("/dev/null", O_RDWR | O_CLOEXEC);
  bool done = null != -1;

  for (int i = 0; done && i < process->nr_fds; i++) {
    fds[i] = move_fd (process, process->fds[i] == -1 ? null : process->fds[i]);
    done = fds[i] != -1;
  }
  for (int i = 0; done && i < process->nr_fds; i++)
    done = dup2 (fds[i], i) != -1;
  if (!done)
    fail (status, "cannot move a descriptor", NOT_RUNNABLE);
}

static int
limit_fds (void)
{
  struct rlimit limit;

  if (getrlimit (RLIMIT_NOFILE, &limit) == -1)
    return -1;
  limit.rlim_cur = MIN (limit.rlim_cur, PROCESS_MAX_FDS);
  limit.rlim_max = MIN (limit.rlim_max, PROCESS_MAX_FDS);
  return setrlimit (RLIMIT_NOFILE, &limit);
}

void
process_exec (const char *paths, char *const argv[], char *const env[])
{
  int err = ENOENT;

  for (; *paths; paths += strlen (paths) + 1) {
    execve (paths, argv, env);
    if (errno == EACCES)
      err = EACCES;
    else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE &&
             errno != ENODEV && errno != ETIMEDOUT)
      return;
  }
  errno = err;
}

static void run_child (const struct process *process, const char *paths,
                       pid_t parent)
  __attribute__ ((noreturn));

static void
run_child (const struct process *process, const char *paths, pid_t parent)
{
  const char *failed = process->prepare ? process->prepare (process->opaque)
                                        : NULL;
  int status = process->status;

  if (failed)
    fail (status, failed, NOT_RUNNABLE);
  prepare_child (parent);
  if (status != -1)
    status = move_fd (process, status);
  set_fds (process, status);
  if (process->limit_fds && limit_fds () == -1)
    fail (status, "cannot limit its descriptors", NOT_RUNNABLE);
  process_exec (paths, process->argv, process->environment);
  if (errno == ENOENT)
    fail (status, "not installed", NOT_FOUND);
  fail (status, "cannot run it", NOT_RUNNABLE);
}

/* ---- In the parent ---- */

/* Returns the paths at which PROGRAM can be, by PATH: strings, each with its
 * terminating zero, and an empty one at the end.  Returns NULL with errno set
 * on error.  The caller frees them.
 */
static char *
find_paths (const char *program)
{
  const char *path = getenv ("PATH");
  bool more;
  char *paths;
  size_t len;
  FILE *out = open_memstream (&paths, &len);

  if (!out)
    return NULL;
  if (strchr (program, '/'))
    path = "";
  else if (!path)
    path = "/bin:/usr/bin";
  do {
    size_t n = strcspn (path, ":"); /* 0: the current directory */

    fprintf (out, "%.*s%s%s%c", (int) n, path, n > 0 ? "/" : "", program, '\0');
    more = path[n] == ':';
    path += n + more;
  } while (more);
  return memstream_close (out, &paths) ? paths : NULL;
}

pid_t
process_start (const struct process *process)
{
  char *paths = find_paths (process->argv[0]);
  pid_t parent = getpid (), pid;
  sigset_t all, old;
  int err;

  if (!paths)
    return -1;
  /* No signal such as SIGINT may end the child before it is prepared. */
  sigfillset (&all);
  sigprocmask (SIG_SETMASK, &all, &old);
  pid = fork ();
  if (pid == 0)
    run_child (process, paths, parent);
  err = errno;
  sigprocmask (SIG_SETMASK, &old, NULL);
  free (paths);
  errno = err;
  return pid;
}

/* ---- A program and its output ---- */

/* A string that grows up to MAX bytes; further bytes are dropped. */
struct text {
  char *bytes;
  size_t len, size, max;
  bool cut;
};

static int
text_append (struct text *text, const char *bytes, size_t len)
{
  if (len > text->max - text->len) {
    text->cut = true;
    len = text->max - text->len;
  }
  if (text->len + len + 1 > text->size) {
    size_t size = text->size * 2 + len + 1;
    char *grown = realloc (text->bytes, size);

    if (!grown)
      return -1;
    text->bytes = grown;
    text->size = size;
  }
  memcpy (text->bytes + text->len, bytes, len);
  text->len += len;
  text->bytes[text->len] = '\0';
  return 0;
}

/* Read the next bytes; at the end of the file close the descriptor.  Returns 0,
 * or -1 with errno set.
 */
static int
text_read (struct text *text, struct pollfd *poll)
{
  char chunk[16384];
  ssize_t n = read (poll->fd, chunk, sizeof chunk);

  if (n == -1)
    return errno == EINTR ? 0 : -1;
  if (n == 0) {
    close (poll->fd);
    poll->fd = -1;
    return 0;
  }
  return text_append (text, chunk, n);
}

/* Start ARGV.  Returns the pid, or -1 with errno set. */
static pid_t
start (char *const argv[], int *out, int *err)
{
  int outs[2], errs[2];
  pid_t pid = -1;

  if (pipe2 (outs, O_CLOEXEC) == -1)
    return -1;
  if (pipe2 (errs, O_CLOEXEC) == 0) {
    pid = process_start (&(struct process) {
      .argv = argv, .environment = environ, .nr_fds = 3,
      .fds = { -1, outs[1], errs[1] }, .status = -1
    });
    close (errs[1]);
    *err = errs[0];
    if (pid == -1)
      close (errs[0]);
  }
  close (outs[1]);
  *out = outs[0];
  if (pid == -1)
    close (outs[0]);
  return pid;
}

/* Read all output of the child.  Returns 0, or -1 with errno set. */
static int
collect (int out, int err, struct text *stdout_text, struct text *stderr_text)
{
  struct pollfd fds[2] = { { out, POLLIN, 0 }, { err, POLLIN, 0 } };
  int r = 0;

  while (r == 0 && (fds[0].fd != -1 || fds[1].fd != -1)) {
    if (poll (fds, 2, -1) == -1) {
      r = errno == EINTR ? 0 : -1;
      continue;
    }
    if (fds[0].revents)
      r = text_read (stdout_text, &fds[0]);
    if (r == 0 && fds[1].revents)
      r = text_read (stderr_text, &fds[1]);
    if (r == 0 && stdout_text->cut) {
      errno = EFBIG;
      r = -1;
    }
  }
  for (int i = 0, errnum = errno; i < 2; i++, errno = errnum)
    if (fds[i].fd != -1)
      close (fds[i].fd);
  return r;
}

/* Set an error, unless the child exited with status 0. */
static int
check_status (const char *name, int status, struct error *error)
{
  if (WIFEXITED (status) && WEXITSTATUS (status) == 0)
    return 0;
  if (WIFEXITED (status) && WEXITSTATUS (status) == NOT_FOUND)
    return error_set (error, "%s is not installed: it is needed to read "
                      "images that are not raw", name);
  if (WIFEXITED (status) && WEXITSTATUS (status) == NOT_RUNNABLE)
    return error_set (error, "%s cannot be run", name);
  if (WIFSIGNALED (status))
    return error_set (error, "%s was killed by signal %d", name,
                      WTERMSIG (status));
  return error_set (error, "%s failed", name);
}

int
process_run (char *const argv[], char **output, char **messages,
             struct error *error)
{
  struct text out = { .max = MAX_STDOUT }, err = { .max = MAX_STDERR };
  int out_fd, err_fd, status, r = -1;
  pid_t pid = start (argv, &out_fd, &err_fd), waited;

  *messages = NULL;
  if (pid == -1)
    return error_errno (error, errno, "cannot run %s", argv[0]);
  if (collect (out_fd, err_fd, &out, &err) == -1) {
    error_errno (error, errno, "cannot read the output of %s", argv[0]);
    kill (pid, SIGKILL);
  }
  do
    waited = waitpid (pid, &status, 0);
  while (waited == -1 && errno == EINTR);
  if (waited == -1)
    error_errno (error, errno, "cannot wait for %s", argv[0]);

  if (!error_is_set (error)) {
    r = check_status (argv[0], status, error);
    if (r == -1 && err.len > 0)
      *messages = err.bytes;
    else if (r == 0 && (r = text_append (&out, "", 0)) == -1)
      error_set (error, "out of memory");
  }
  if (!*messages)
    free (err.bytes);
  if (r == -1)
    free (out.bytes);
  else
    *output = out.bytes;
  return r;
}

/* ---- Messages ---- */

/* Convert the messages of a program of qemu that failed to an error for the
 * user.
 *
 * The option or descriptor that names the image is replaced by the name that
 * the user knows.  So, with the image FILE,
 *
 *   qemu-nbd: Failed to blk_new_open 'driver=qcow,file.filename=FILE': WHY
 *
 * becomes "Failed to blk_new_open 'FILE': WHY".  If FILE is the operand, which
 * is printed before each error anyway, only "WHY" is left.
 *
 * Messages that this process caused when it disconnected are removed.
 */

#define DISCONNECT "Disconnect client, due to: "

/* Returns the rest of TEXT after PREFIX, or NULL. */
static const char *
skip_prefix (const char *text, const char *prefix)
{
  size_t len = strlen (prefix);

  return strncmp (text, prefix, len) == 0 ? text + len : NULL;
}

static bool
ends_with (const char *text, size_t len, const char *end)
{
  size_t n = strlen (end);

  return len >= n && memcmp (text + len - n, end, n) == 0;
}

/* Skip "qemu-nbd: " or "qemu-img: ". */
static const char *
skip_program (const char *line)
{
  static const char *const programs[] = { "qemu-nbd: ", "qemu-img: " };
  const char *rest;

  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
    if ((rest = skip_prefix (line, programs[i])))
      return rest;
  return line;
}

/* Skip "Failed to blk_new_open 'NAME': " and "Could not open 'NAME': ". */
static const char *
skip_name (const char *line, const char *name)
{
  static const char *const opens[] = {
    "Failed to blk_new_open '", "Could not open '"
  };
  const char *rest;

  /* An error is often wrapped in another one. */
  for (size_t i = 0; i < sizeof opens / sizeof opens[0]; i++)
    if ((rest = skip_prefix (line, opens[i])) &&
        (rest = skip_prefix (rest, name)) &&
        (rest = skip_prefix (rest, "': ")))
      line = rest;
  return line;
}

/* Returns true if the LEN bytes of LINE only report that this process
 * disconnected before a reply was sent.
 */
static bool
is_disconnect (const char *line, size_t len)
{
  return ends_with (line, len, "Unable to write to socket: Broken pipe") ||
    (skip_prefix (line, DISCONNECT) &&
     (ends_with (line, len, ": Broken pipe") ||
      ends_with (line, len, ": Connection reset by peer")));
}

/* Replace TARGET by NAME in TEXT, and free TEXT.  Returns the new text, or NULL
 * if there is no memory.
 */
static char *
replace (char *text, const char *target, const char *name)
{
  const char *rest = text;
  const char *found;
  char *replaced = NULL;
  size_t size;
  FILE *out = open_memstream (&replaced, &size);

  if (out) {
    while (*target && (found = strstr (rest, target))) {
      fprintf (out, "%.*s%s", (int) (found - rest), rest, name);
      rest = found + strlen (target);
    }
    fputs (rest, out);
    memstream_close (out, &replaced);
  }
  free (text);
  return replaced;
}

/* Print the lines of TEXT without the name of the program, and without NAME if
 * it is the operand.  Empty lines, and those about the disconnect, are removed.
 */
static void
print_lines (FILE *out, const char *text, const char *name, bool is_operand)
{
  bool disconnected = false;

  while (*text) {
    const char *end = text + strcspn (text, "\n");
    const char *line = skip_program (text);

    if (is_operand)
      line = skip_name (line, name);
    /* A connection ends only once, so a second message about its end is removed
     * whatever the cause.
     */
    if (line < end && !is_disconnect (line, end - line) &&
        !(disconnected && skip_prefix (line, DISCONNECT))) {
      disconnected |= skip_prefix (line, DISCONNECT) != NULL;
      fprintf (out, "%.*s\n", (int) (end - line), line);
    }
    text = *end ? end + 1 : end;
  }
}

static char *
filter_lines (const char *text, const char *name, bool is_operand)
{
  char *lines = NULL;
  size_t size;
  FILE *out = open_memstream (&lines, &size);

  if (!out)
    return NULL;
  print_lines (out, text, name, is_operand);
  return memstream_close (out, &lines);
}

void
qemu_message_refine_error (struct error *error, const char *messages,
                           const char *const *targets, const char *name,
                           bool is_operand)
{
  struct error printable = { "" }; /* NAME without newlines */
  char *text = strdup (messages), *lines = NULL;

  error_set (&printable, "%s", name);
  for (; text && *targets; targets++)
    text = replace (text, *targets, printable.text);
  if (text && strcmp (name, printable.text) != 0)
    text = replace (text, name, printable.text);
  if (text)
    lines = filter_lines (text, printable.text, is_operand);
  if (lines && *lines) {
    *error = (struct error) { "" };
    error_set_lines (error, lines);
  }
  free (lines);
  free (text);
}
