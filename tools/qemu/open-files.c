/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * /proc lists them.  If /proc is not mounted, as in a chroot, pidfd_getfd
 * (Linux 5.6) copies descriptors of the process.  pidfd_getfd is called for
 * each number that a descriptor can have, so the numbers must be limited.  The
 * kernel permits it on a child process, unless ptrace is disabled.
 */

#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "qemu/open-files.h"

int
open_files_limit (void)
{
  struct rlimit limit;

  if (getrlimit (RLIMIT_NOFILE, &limit) == -1)
    return -1;
  if (limit.rlim_cur > OPEN_FILES_MAX)
    limit.rlim_cur = OPEN_FILES_MAX;
  if (limit.rlim_max > OPEN_FILES_MAX)
    limit.rlim_max = OPEN_FILES_MAX;
  return setrlimit (RLIMIT_NOFILE, &limit);
}

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
  for (int number = 0; r == 0 && number < OPEN_FILES_MAX; number++) {
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

int
open_files_visit (pid_t pid, void (*visit) (void *, const struct stat *),
                  void *opaque)
{
  if (visit_by_proc (pid, visit, opaque) == 0)
    return 0;
  return visit_by_copies (pid, visit, opaque);
}
