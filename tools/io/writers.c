/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Does another process have a file or block device open for writing?
 *
 * The locks of qemu are on the inode that it has opened.  For a block device that is
 * a node, and a virtual machine of libvirt has nodes of its own, so its locks are not
 * seen; nor does qemu open it exclusively.  But the number of the device is the same
 * for all nodes, in any mount namespace.
 *
 * Not seen are processes of other users, unless we are root, those of another PID
 * namespace, and what the kernel or another host writes.
 */

#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/writers.h"
#include "util/error.h"

#define PATH_SIZE 64

/* Store the beginning of the file at PATH in TEXT.  False if it cannot be read. */
static bool
read_text (const char *path, char *text, size_t size)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd == -1 ? -1 : read (fd, text, size - 1);

  if (fd != -1)
    close (fd);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

static bool
is_same (const struct stat *a, const struct stat *b)
{
  if (S_ISBLK (a->st_mode))
    return S_ISBLK (b->st_mode) && a->st_rdev == b->st_rdev;
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The flags are looked at first, because a file on a server that does not answer
 * is seldom open for writing, and its state would be waited for.
 */
static bool
is_writer (unsigned long pid, unsigned long fd, const struct stat *st)
{
  char path[PATH_SIZE], text[256];
  const char *flags;
  struct stat other;

  snprintf (path, sizeof path, "/proc/%lu/fdinfo/%lu", pid, fd);
  if (!read_text (path, text, sizeof text) ||
      !(flags = strstr (text, "flags:")) ||
      (strtoul (flags + strlen ("flags:"), NULL, 8) & O_ACCMODE) == O_RDONLY)
    return false;
  snprintf (path, sizeof path, "/proc/%lu/fd/%lu", pid, fd);
  return stat (path, &other) == 0 && is_same (st, &other);
}

/* Call FUNCTION for each entry of the directory at PATH that is a number, until it
 * returns true.
 */
static bool
find_number (const char *path,
             bool (*function) (unsigned long parent, unsigned long number,
                               const struct stat *st),
             unsigned long parent, const struct stat *st, unsigned long *found)
{
  DIR *dir = opendir (path);
  struct dirent *entry;
  bool r = false;
  char *end;

  while (dir && !r && (entry = readdir (dir))) {
    *found = strtoul (entry->d_name, &end, 10);
    r = end != entry->d_name && *end == '\0' && function (parent, *found, st);
  }
  if (dir)
    closedir (dir);
  return r;
}

static bool
has_writer (unsigned long ignored, unsigned long pid, const struct stat *st)
{
  char path[PATH_SIZE];
  unsigned long fd;

  (void) ignored;
  snprintf (path, sizeof path, "/proc/%lu/fd", pid);
  return pid != (unsigned long) getpid () &&
    find_number (path, is_writer, pid, st, &fd);
}

int
writers_check (const struct stat *st, struct error *error)
{
  char path[PATH_SIZE], name[32] = "?";
  unsigned long pid;

  if (!find_number ("/proc", has_writer, 0, st, &pid))
    return 0;
  snprintf (path, sizeof path, "/proc/%lu/comm", pid);
  read_text (path, name, sizeof name);
  name[strcspn (name, "\n")] = '\0';
  return error_set (error, "is in use: process %lu (%s) has it open for writing",
                    pid, name);
}
