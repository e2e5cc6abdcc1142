/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A new file, which gets its name when it is complete, and then atomically
 * replaces the file that has the name, but no file of others.
 *
 * Thread-safe for different files, but at a time only one file of the process
 * may have unlink_on_signal.
 */

#ifndef BLKHASH_REPLACE_H
#define BLKHASH_REPLACE_H

#include <stdbool.h>
#include <sys/types.h>

struct replacement {
  /* Set by the caller.  The strings stay valid until replacement_close. */
  char *path;                   /* of the complete file; must be no symbolic
                                 * link, which is never replaced */
  char *name;                   /* of the new file until then, in the same
                                 * directory; nobody else uses it */
  char *examined;               /* the name at which the replaced file is
                                 * judged; NULL: NAME */
  int directory;                /* descriptor of the directory, to sync it; -1:
                                 * it is opened by its path */
  mode_t mode;
  bool unnamed;                 /* NAME is given only when needed, if the
                                 * file system can create a file without one */
  bool unlink_on_signal;        /* SIGHUP, SIGINT and SIGTERM remove NAME,
                                 * unless they are ignored or have a handler */

  /* Set by replacement_open.  If it is not called, they must be set. */
  int fd;                       /* open for writing; -1: none */
  bool named;                   /* the new file is at NAME now, so that
                                 * replacement_close removes it */
  bool synced;                  /* replacement_sync was called, and
                                 * replacement_write was not called since */
};

/* Create the file.  Returns 0; or -1 with errno, which is EEXIST if there is a
 * file at NAME.
 */
int replacement_open (struct replacement *new);

/* Write TEXT; or the caller writes to FD.  Returns 0, or -1 with errno. */
int replacement_write (struct replacement *new, const char *text);

/* Sync the content.  Before a file gets its name, that is done in any case; the
 * caller can do it at a better time, but then after its last write to FD.
 * Returns 0, or -1 with errno.
 */
int replacement_sync (struct replacement *new);

/* Opens the file at PATH, and checks that it may be replaced.  Returns its
 * descriptor; or -1 with errno if it may not be replaced, or could not be
 * checked.  The reason can be stored in OPAQUE.
 */
typedef int replace_judge (void *opaque, const char *path);

enum replace_result {
  REPLACE_DONE,                 /* not even a crash brings back the old file */
  REPLACE_NOT_SYNCED,           /* errno is set; the new file is at the path,
                                 * but after a crash the old one may be */
  REPLACE_FAILED,               /* errno is set; the path is as before */
  REPLACE_REFUSED,              /* by the judge; the path is as before */
  REPLACE_DISPLACED,            /* the judge refused the file that was at the
                                 * path, and it is at EXAMINED now: meanwhile
                                 * another file was put at the path, or it
                                 * cannot be put back */
};

/* Sync the file, put it at its path, and sync the directory.  A file that is
 * there is replaced only if JUDGE accepts it.  If JUDGE is NULL, no file is
 * replaced: the result is REPLACE_FAILED with EEXIST.  *OLD is set to the
 * descriptor that JUDGE returned, which the caller closes after any result, or
 * to -1.  A reader of the path always finds a file, if there was one before.
 */
enum replace_result replacement_publish (struct replacement *new,
                                         replace_judge *judge, void *opaque,
                                         int *old);

/* Sync the file, and put it at its path, if no file is there.  The directory is
 * not synced.  Returns 0; or -1 with errno, which is EEXIST if there is a file.
 * Over NFS another error can be returned although the file is there now.
 */
int replacement_link (struct replacement *new);

/* Close the file.  If it was not published, remove it.  errno is kept. */
void replacement_close (struct replacement *new);

/* Remove the file that a killed program may have left at NAME.  Returns 0, or
 * -1 with errno.  If NAME is not a regular file, this module cannot have
 * created it: it is not removed, and errno is EEXIST.
 */
int replacement_remove_leftover (const char *name);

/* Sync the directory that is open as FD, or that of PATH.  It is not an error
 * if the file system cannot sync a directory, or if this user may create files
 * in the directory of PATH, but not read it.  Returns 0, or -1 with errno.
 */
int replace_sync_directory (int fd);
int replace_sync_directory_of (const char *path);

#endif /* BLKHASH_REPLACE_H */
