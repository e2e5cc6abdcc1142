/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Replace a file atomically, but no file of others.
 *
 * Thread-safe, if no other thread or process uses the name FROM.
 */

#ifndef BLKHASH_REPLACE_H
#define BLKHASH_REPLACE_H

/* Opens the file at PATH, and checks that it may be replaced.  Returns its
 * descriptor; or -1 with errno if it may not be replaced, or could not be
 * checked.  The reason can be stored in OPAQUE.
 */
typedef int replace_judge (void *opaque, const char *path);

enum replace_result {
  REPLACE_DONE,
  REPLACE_FAILED,               /* errno is set; PATH is as before */
  REPLACE_REFUSED,              /* by the judge; PATH is as before */
  REPLACE_DISPLACED,            /* the judge refused the file that was at PATH,
                                 * and it is at FROM now: meanwhile another file
                                 * was put at PATH, or it cannot be put back */
};

/* Rename the file FROM, which is in the same directory, to PATH.  A file at
 * PATH is replaced only if JUDGE accepts it.  *OLD is set to the descriptor
 * that JUDGE returned, which the caller closes after any result, or to -1.  A
 * reader of PATH always finds a file, if there was one before.  The caller has
 * synced FROM, and syncs the directory if needed.
 *
 * After REPLACE_FAILED and REPLACE_REFUSED, FROM has been removed, unless that
 * failed.
 */
enum replace_result replace_file (const char *from, const char *path,
                                  replace_judge *judge, void *opaque,
                                  int *old);

#endif /* BLKHASH_REPLACE_H */
