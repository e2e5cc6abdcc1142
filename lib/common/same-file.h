/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Do two results of stat(2) describe one file, and one state of its content?
 *
 *   question                      compared                         function
 *   the same inode?               device and inode                 same_file
 *   the same disk?                a block device by its number     same_disk
 *   no write since?               size and mtime                   same_state
 *   no write since, even if the   ctime                            same_ctime
 *     mtime was set back?
 *   the same inode, of which      all of these                     same_version
 *     nothing changed?
 *
 * The ctime also changes when a file gets another name, owner or mode.  So it
 * shows more than a write, and is compared only where such a change may be
 * refused or costs little.  Each write changes the mtime, but a program can set
 * it back, as rsync and tar do.
 */

#ifndef BLKHASH_SAME_FILE_H
#define BLKHASH_SAME_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

static inline bool
same_time (const struct timespec *a, const struct timespec *b)
{
  return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static inline bool
same_mtime (const struct stat *a, const struct stat *b)
{
  return same_time (&a->st_mtim, &b->st_mtim);
}

static inline bool
same_ctime (const struct stat *a, const struct stat *b)
{
  return same_time (&a->st_ctim, &b->st_ctim);
}

static inline bool
same_file (const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A block device can have several nodes, so it is compared by its number. */
static inline bool
same_disk (const struct stat *a, const struct stat *b)
{
  if (S_ISBLK (a->st_mode) || S_ISBLK (b->st_mode))
    return S_ISBLK (a->st_mode) && S_ISBLK (b->st_mode) &&
      a->st_rdev == b->st_rdev;
  return same_file (a, b);
}

/* A and B are of the same open file.  Writes to a device cannot be detected. */
static inline bool
same_state (const struct stat *a, const struct stat *b)
{
  if (S_ISBLK (a->st_mode))
    return a->st_rdev == b->st_rdev;
  return a->st_size == b->st_size && same_mtime (a, b);
}

static inline bool
same_version (const struct stat *a, const struct stat *b)
{
  return same_file (a, b) && a->st_size == b->st_size && same_mtime (a, b) &&
    same_ctime (a, b);
}

#endif /* BLKHASH_SAME_FILE_H */
