/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Start and end a qemu-nbd, and check the files that it has open: see qemu.h.
 *
 * qemu-nbd inherits a listening socket, by the socket activation of systemd:
 * descriptor 3, LISTEN_FDS and LISTEN_PID.  Before qemu-nbd runs, the child
 * binds the socket in a directory that no other user can enter, connects the
 * socket of this process to it, and removes the socket and the directory.  If
 * this process is killed at that time, the child still removes them, because it
 * requests the parent-death signal only afterwards.
 */

#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/common/clock.h"
#include "../lib/common/same-file.h"
#include "qemu/qemu.h"
#include "util/error.h"

#define EXIT_TIMEOUT 5000       /* ms to wait until qemu-nbd has printed the
                                 * reason of an error, and exits; also until the
                                 * child has removed the name of its socket */
#define MAX_MESSAGES 16384      /* of qemu-nbd, bytes; paths can be long */

#define LISTEN_PID "LISTEN_PID="

struct spawn {
  char **environment;
  char listen_pid[40];          /* in ENVIRONMENT; completed by the child */
  char dir[90];                 /* the directory of the socket */
  struct sockaddr_un address;   /* of the socket */
  int listener, client;         /* sockets */
};

/* ---- In the child: only async-signal-safe functions ---- */

static int
bind_and_connect (const struct spawn *spawn)
{
  const struct sockaddr *sa = (const struct sockaddr *) &spawn->address;
  int r;

  if (bind (spawn->listener, sa, sizeof spawn->address) == -1)
    return -1;
  r = listen (spawn->listener, 1);
  if (r == 0)
    r = connect (spawn->client, sa, sizeof spawn->address);
  unlink (spawn->address.sun_path);
  return r;
}

/* Returns NULL, or what failed. */
static const char *
make_connection (const struct spawn *spawn)
{
  int r, err;

  if (mkdir (spawn->dir, 0700) == -1)
    return "cannot make a directory in TMPDIR or /tmp";
  r = bind_and_connect (spawn);
  err = errno;
  rmdir (spawn->dir);
  errno = err;
  return r == 0 ? NULL : "cannot make a socket";
}

/* Complete the variable LISTEN_PID. */
static void
set_listen_pid (struct spawn *spawn)
{
  char digits[20], *to = spawn->listen_pid + strlen (LISTEN_PID);
  size_t n = 0;

  for (pid_t pid = getpid (); pid > 0; pid /= 10)
    digits[n++] = '0' + pid % 10;
  while (n > 0)
    *to++ = digits[--n];
  *to = '\0';
}

static const char *
prepare (void *opaque)
{
  struct spawn *spawn = opaque;

  set_listen_pid (spawn);
  return make_connection (spawn);
}

/* ---- In the parent ---- */

/* Choose the names of the directory and the socket, of which no other process
 * can know the random part.  Returns 0, or -1 with errno set.
 */
static int
choose_names (struct spawn *spawn)
{
  struct sockaddr_un *address = &spawn->address;
  const char *tmp = getenv ("TMPDIR");
  uint64_t random;

  if (getentropy (&random, sizeof random) == -1)
    return -1;
  /* The length of the path of a socket is limited. */
  if (!tmp || tmp[0] != '/' || strlen (tmp) > sizeof address->sun_path / 2)
    tmp = "/tmp";
  snprintf (spawn->dir, sizeof spawn->dir, "%s/blksum-%016" PRIx64, tmp,
            random);
  address->sun_family = AF_UNIX;
  snprintf (address->sun_path, sizeof address->sun_path, "%s/sock",
            spawn->dir);
  return 0;
}

static bool
is_of_listening (const char *variable)
{
  return strncmp (variable, LISTEN_PID, strlen (LISTEN_PID)) == 0 ||
    strncmp (variable, "LISTEN_FDS=", 11) == 0 ||
    strncmp (variable, "LISTEN_FDNAMES=", 15) == 0;
}

/* Make the environment of qemu-nbd: that of this process, with the variables of
 * the socket activation replaced.  Returns 0, or -1 with errno set.
 */
static int
make_environment (struct spawn *spawn)
{
  size_t i, n = 0;

  while (environ[n])
    n++;
  spawn->environment = calloc (n + 3, sizeof *spawn->environment);
  if (!spawn->environment)
    return -1;
  for (i = n = 0; environ[i]; i++)
    if (!is_of_listening (environ[i]))
      spawn->environment[n++] = environ[i];
  strcpy (spawn->listen_pid, LISTEN_PID);
  spawn->environment[n++] = spawn->listen_pid;
  spawn->environment[n] = (char *) "LISTEN_FDS=1";
  return 0;
}

static void
close_fd (int fd)
{
  if (fd != -1)
    close (fd);
}

/* Wait until the child runs PROGRAM, or fails.  It writes its failure to the
 * pipe STATUS, which exec closes.  Returns 0, or -1 on error.
 */
static int
wait_for_exec (int status, const char *program, struct error *error)
{
  struct process_failure failure;
  ssize_t r;

  do
    r = read (status, &failure, sizeof failure);
  while (r == -1 && errno == EINTR);
  if (r == 0)
    return 0;
  /* After this error the caller kills the child.  First wait until the child
   * has closed the pipe, because then it has removed the name of its socket.
   */
  if (r == -1)
    poll (&(struct pollfd) { .fd = status }, 1, EXIT_TIMEOUT);
  if (r != sizeof failure)
    return error_set (error, "cannot start %s", program);
  return error_errno (error, failure.err, "cannot start %s: %s", program,
                      failure.what);
}

void
qemu_nbd_stop (struct qemu_nbd *qemu)
{
  close_fd (qemu->sock);
  close_fd (qemu->messages);
  qemu->sock = qemu->messages = -1;
  if (qemu->pid == -1)
    return;
  kill (qemu->pid, SIGKILL);
  while (waitpid (qemu->pid, NULL, 0) == -1 && errno == EINTR)
    ;
  qemu->pid = -1;
}

int
qemu_nbd_start (struct qemu_nbd *qemu, char *const argv[], int image_fd,
                struct error *error)
{
  int status[2] = { -1, -1 }, messages[2] = { -1, -1 }, r = 0;
  struct spawn spawn = {
    .listener = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
    .client = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
  };

  qemu->pid = -1;
  if (spawn.listener == -1 || spawn.client == -1 ||
      choose_names (&spawn) == -1 || make_environment (&spawn) == -1 ||
      pipe2 (status, O_CLOEXEC) == -1 || pipe2 (messages, O_CLOEXEC) == -1 ||
      /* qemu-nbd must not block on its messages. */
      fcntl (messages[1], F_SETFL, O_NONBLOCK) == -1)
    r = -1;
  else {
    qemu->pid = process_start (&(struct process) {
      .argv = argv, .environment = spawn.environment,
      .nr_fds = image_fd == -1 ? 4 : 5,
      .fds = { -1, -1, messages[1], spawn.listener, image_fd },
      .status = status[1], .limit_fds = image_fd != -1,
      .prepare = prepare, .opaque = &spawn
    });
    r = qemu->pid == -1 ? -1 : 0;
  }
  if (r == -1)
    error_errno (error, errno, "cannot start %s", argv[0]);
  free (spawn.environment);
  close_fd (spawn.listener);
  close_fd (status[1]);
  close_fd (messages[1]);
  qemu->sock = spawn.client;
  qemu->messages = messages[0];

  if (r == 0)
    r = wait_for_exec (status[0], argv[0], error);
  close_fd (status[0]);
  if (r == -1)
    qemu_nbd_stop (qemu);
  return r;
}

void
qemu_nbd_refine_error (struct qemu_nbd *qemu, const char *target,
                       const char *name, struct error *error)
{
  const char *const targets[] = { target, QEMU_NBD_IMAGE_PATH, NULL };
  struct pollfd poll_fd = { .fd = qemu->messages, .events = POLLIN };
  char text[MAX_MESSAGES];
  int64_t left, until = clock_ms () + EXIT_TIMEOUT;
  size_t n = 0;

  while (n < sizeof text - 1 && (left = until - clock_ms ()) > 0 &&
         poll (&poll_fd, 1, left) == 1) {
    ssize_t r = read (qemu->messages, text + n, sizeof text - 1 - n);

    if (r <= 0)
      break;
    n += r;
  }
  text[n] = '\0';
  qemu_message_refine_error (error, text, targets, name, true);
}

/* ---- The files that qemu-nbd has open ---- */

/* /proc lists them.  If /proc is not mounted, as in a chroot, pidfd_getfd
 * (Linux 5.6) copies descriptors of the process.  pidfd_getfd is called for
 * each number that a descriptor can have, so the numbers must be limited.  The
 * kernel permits it on a child process, unless ptrace is disabled.
 */

static int
visit_by_proc (pid_t pid, void (*visit) (void *, const struct stat *),
               void *opaque)
{
  char path[64], file[sizeof path + 32];
  struct dirent *entry;
  struct stat st;
  DIR *dir;

  snprintf (path, sizeof path, "/proc/%ld/fd", (long) pid);
  dir = opendir (path);
  if (!dir)
    return -1;
  while ((entry = readdir (dir))) {
    if (entry->d_name[0] == '.')
      continue;
    snprintf (file, sizeof file, "%s/%.30s", path, entry->d_name);
    if (stat (file, &st) == 0)  /* otherwise it was closed in between */
      visit (opaque, &st);
  }
  closedir (dir);
  return 0;
}

#if defined SYS_pidfd_open && defined SYS_pidfd_getfd

/* Visit the file that is descriptor NUMBER of PROCESS, a pidfd.  Returns 0, or
 * -1 with errno set: EBADF if the process has no such descriptor.
 */
static int
visit_number (int process, int number,
              void (*visit) (void *, const struct stat *), void *opaque)
{
  int copy = syscall (SYS_pidfd_getfd, process, number, 0);
  struct stat st;
  int r;

  if (copy == -1)
    return -1;
  r = fstat (copy, &st);
  close (copy);
  if (r == 0)
    visit (opaque, &st);
  return r;
}

static int
visit_by_copies (pid_t pid, void (*visit) (void *, const struct stat *),
                 void *opaque)
{
  int process = syscall (SYS_pidfd_open, pid, 0);
  int err, r = 0;

  if (process == -1)
    return -1;
  for (int number = 0; r == 0 && number < PROCESS_MAX_FDS; number++) {
    r = visit_number (process, number, visit, opaque);
    if (r == -1 && errno == EBADF)
      r = 0;
  }
  err = errno;
  close (process);
  errno = err;
  return r;
}

#else

static int
visit_by_copies (pid_t pid, void (*visit) (void *, const struct stat *),
                 void *opaque)
{
  (void) pid; (void) visit; (void) opaque;
  errno = ENOSYS;
  return -1;
}

#endif

/* Call VISIT for each file that PID, a child with limited descriptors, has
 * open.  Returns 0, or -1 with errno set if these files cannot be determined.
 */
static int
visit_files (pid_t pid, void (*visit) (void *, const struct stat *),
             void *opaque)
{
  if (visit_by_proc (pid, visit, opaque) == 0)
    return 0;
  return visit_by_copies (pid, visit, opaque);
}

struct file_check {
  const struct stat *image;
  bool allowed;                 /* no file but the image was seen so far */
};

static void
check_file (void *opaque, const struct stat *st)
{
  struct file_check *check = opaque;

  if ((S_ISREG (st->st_mode) || S_ISBLK (st->st_mode)) &&
      !same_disk (st, check->image))
    check->allowed = false;
}

int
qemu_nbd_check_files (const struct qemu_nbd *qemu, const struct stat *image,
                      struct error *error)
{
  struct file_check check = { .image = image, .allowed = true };

  if (visit_files (qemu->pid, check_file, &check) == -1)
    return error_set (error, "cannot determine which files qemu-nbd opened "
                      "(%s): give the format with -f", strerror (errno));
  if (!check.allowed)
    return error_set (error, "refused because it changed while it was "
                      "opened, so that qemu opened another file");
  return 0;
}

int
qemu_nbd_check_running (const struct qemu_nbd *qemu, struct error *error)
{
  siginfo_t info = { .si_pid = 0 };
  int r;

  do
    r = waitid (P_PID, qemu->pid, &info, WEXITED | WNOHANG | WNOWAIT);
  while (r == -1 && errno == EINTR);
  if (r == -1)
    return error_errno (error, errno, "cannot wait for qemu-nbd");
  if (info.si_pid != 0)
    return error_set (error, "qemu-nbd ended while the image was read");
  return 0;
}
