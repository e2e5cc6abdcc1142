/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Find the files that other processes have open for writing, using /proc.
 *
 * Failing to read a file in /proc is an error, because it could describe a
 * file that is open for writing.  It is not an error if the process or thread
 * has ended, or if permission is denied and this process is not running as
 * root.  Permission denied to root is an error only without CAP_SYS_PTRACE.  If
 * root has this capability, a security module protects the other process, for
 * example the first process of a container, and there is nothing more to try.
 *
 * A thread can have a file descriptor table of its own, and the first thread
 * of a process can end before the others, so all threads are checked.  Most
 * threads share the table with the thread before them, and their files are not
 * read again.
 */

#include <config.h>

#include "repair/proc-files.h"
#include "util/error.h"

#ifdef __linux__

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PATH_SIZE 128

struct search {
  int (*function) (void *opaque, const struct proc_file *file);
  void *opaque;
  struct error *error;
  unsigned long self;           /* our pid in this /proc */
  unsigned long pid;
  unsigned long thread;
  unsigned long read_thread;    /* last thread whose files were read, or 0 */
};

/* ---- Reading ---- */

static bool
can_trace (void)
{
  struct __user_cap_header_struct header = {
    .version = _LINUX_CAPABILITY_VERSION_3
  };
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

  return syscall (SYS_capget, &header, data) == 0 &&
    (data[CAP_TO_INDEX (CAP_SYS_PTRACE)].effective &
     CAP_TO_MASK (CAP_SYS_PTRACE));
}

/* Handle the error ERR of reading PATH.  Returns 0 if it can be ignored, or -1
 * with the reason in the error of SEARCH.
 */
static int
fail (const struct search *search, const char *path, int err)
{
  if (err == ENOENT || err == ESRCH)
    return 0;
  if (err != EACCES && err != EPERM)
    return error_errno (search->error, err, "cannot find out whether it is in "
                        "use: cannot read %s", path);
  if (geteuid () != 0 || can_trace ())
    return 0;
  return error_set (search->error, "cannot find out whether it is in use: root "
                    "needs CAP_SYS_PTRACE to read %s", path);
}

/* Store the beginning of the file at PATH in TEXT, at most SIZE - 1 bytes.
 * Returns 0, or an errno value.
 */
static int
read_text (const char *path, char *text, size_t size)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd == -1 ? -1 : read (fd, text, size - 1);
  int err = n == -1 ? errno : 0;

  if (fd != -1)
    close (fd);
  text[n > 0 ? n : 0] = '\0';
  return err;
}

/* Call FUNCTION for each entry of the directory PATH whose name is a number,
 * until FUNCTION returns non-zero.
 */
static int
each_number (struct search *search, const char *path,
             int (*function) (struct search *search, unsigned long number))
{
  DIR *dir = opendir (path);
  struct dirent *entry;
  int r = 0;

  if (!dir)
    return fail (search, path, errno);
  while (r == 0 && (errno = 0, entry = readdir (dir))) {
    char *end;
    unsigned long number = strtoul (entry->d_name, &end, 10);

    if (end != entry->d_name && *end == '\0')
      r = function (search, number);
  }
  if (r == 0 && errno)
    r = fail (search, path, errno);
  closedir (dir);
  return r;
}

/* ---- Files ---- */

/* Store the open(2) flags of a file descriptor in *FLAGS.  Returns 0, or an
 * errno value.
 */
static int
read_flags (const char *folder, unsigned long fd, int *flags)
{
  char path[PATH_SIZE], text[256];
  const char *found;
  int err;

  snprintf (path, sizeof path, "%s/fdinfo/%lu", folder, fd);
  err = read_text (path, text, sizeof text);
  found = strstr (text, "flags:");
  if (err == 0 && !found)
    err = ENOENT;               /* closed meanwhile */
  *flags = found ? strtoul (found + strlen ("flags:"), NULL, 8) : 0;
  return err;
}

/* Find the file of a file descriptor, without waiting for a network server
 * that does not respond.  Returns 0, or an errno value.
 */
static int
find_file (const char *folder, unsigned long fd, struct proc_file *file)
{
  char path[PATH_SIZE];
  struct statx stx;

  snprintf (path, sizeof path, "%s/fd/%lu", folder, fd);
  if (statx (AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO,
             &stx) == -1)
    return errno;
  *file = (struct proc_file) {
    .number = S_ISBLK (stx.stx_mode)
      ? makedev (stx.stx_rdev_major, stx.stx_rdev_minor) : 0,
    .dev = makedev (stx.stx_dev_major, stx.stx_dev_minor),
    .ino = stx.stx_ino
  };
  return 0;
}

static void
format_thread (const struct search *search, char folder[PATH_SIZE])
{
  snprintf (folder, PATH_SIZE, "/proc/%lu/task/%lu", search->pid,
            search->thread);
}

/* If statx(2) fails on an open file, other than with ENOMEM, ignore the file.
 * It cannot be a file to repair; it can be, for example, a FUSE file that only
 * its owner can access.
 */
static int
check_file (struct search *search, unsigned long fd)
{
  char folder[PATH_SIZE];
  struct proc_file file;
  int flags, err;

  format_thread (search, folder);
  err = read_flags (folder, fd, &flags);
  if (err)
    return fail (search, folder, err);
  if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH))
    return 0;
  err = find_file (folder, fd, &file);
  if (err)
    return err == ENOMEM ? fail (search, folder, err) : 0;
  file.pid = search->pid;
  return search->function (search->opaque, &file);
}

/* ---- Threads and processes ---- */

/* Returns true if SEARCH->thread shares its file descriptor table with the last
 * thread whose files were read.  If /proc is of another PID namespace, returns
 * false, because the thread ids in /proc mean nothing to kcmp(2) then.
 */
static bool
was_read (const struct search *search)
{
  return search->read_thread && search->self == (unsigned long) getpid () &&
    syscall (SYS_kcmp, (pid_t) search->read_thread, (pid_t) search->thread,
             KCMP_FILES, 0, 0) == 0;
}

static int
check_thread (struct search *search, unsigned long thread)
{
  char path[PATH_SIZE];

  search->thread = thread;
  if (was_read (search))
    return 0;
  search->read_thread = thread;
  snprintf (path, sizeof path, "/proc/%lu/task/%lu/fd", search->pid, thread);
  return each_number (search, path, check_file);
}

static int
check_process (struct search *search, unsigned long pid)
{
  char path[PATH_SIZE];

  if (pid == search->self)
    return 0;
  search->pid = pid;
  search->read_thread = 0;
  snprintf (path, sizeof path, "/proc/%lu/task", pid);
  return each_number (search, path, check_thread);
}

/* Returns true if /proc shows OWN_FD of this process; false if /proc is not
 * mounted, or is mounted for a PID namespace that this process is not in.
 */
static bool
shows_us (struct search *search, int own_fd)
{
  char number[32] = "", folder[PATH_SIZE];
  struct proc_file file;
  struct stat st;
  int flags;

  if (readlink ("/proc/self", number, sizeof number - 1) == -1)
    return false;
  search->self = strtoul (number, NULL, 10);
  snprintf (folder, sizeof folder, "/proc/%lu", search->self);
  return fstat (own_fd, &st) == 0 && find_file (folder, own_fd, &file) == 0 &&
    file.dev == st.st_dev && file.ino == st.st_ino &&
    read_flags (folder, own_fd, &flags) == 0;
}

int
proc_files_each (int own_fd,
                 int (*function) (void *opaque, const struct proc_file *file),
                 void *opaque, struct error *error)
{
  struct search search = {
    .function = function, .opaque = opaque, .error = error
  };

  if (!shows_us (&search, own_fd))
    return error_set (error, "cannot find out whether it is in use: /proc does "
                      "not show the files of processes; mount it (mount -t "
                      "proc proc /proc)");
  return each_number (&search, "/proc", check_process);
}

void
proc_name (unsigned long pid, char *name, size_t size)
{
  char path[PATH_SIZE];

  snprintf (path, sizeof path, "/proc/%lu/comm", pid);
  if (read_text (path, name, size) != 0)
    snprintf (name, size, "?");
  name[strcspn (name, "\n")] = '\0';
}

#else

int
proc_files_each (int own_fd,
                 int (*function) (void *opaque, const struct proc_file *file),
                 void *opaque, struct error *error)
{
  (void) own_fd; (void) function; (void) opaque;
  return error_set (error, "cannot find out whether it is in use: this is only "
                    "possible on Linux");
}

void
proc_name (unsigned long pid, char *name, size_t size)
{
  (void) pid; (void) size;
  name[0] = '\0';
}

#endif
