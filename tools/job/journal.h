/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A manifest that is not finished, as it grows: what is told of it is on the
 * disk some seconds later.
 *
 * A thread of its own writes and syncs, so that nobody who tells waits for the
 * disk.
 */

#ifndef BLKSUM_JOURNAL_H
#define BLKSUM_JOURNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct blkhash_manifest_run;
struct blkhash_manifest_writer;
struct error;

struct journal {
  int fd;
  pthread_t thread;

  pthread_mutex_t lock;         /* protects what follows */
  pthread_cond_t ends;
  struct blkhash_manifest_writer *writer;
  int err;                      /* the first, an errno value */
  bool end;
};

/* Begin to write to FD by WRITER, which becomes the journal's in any case.  0,
 * or -1 with the reason: then there is nothing to be stopped.
 */
int journal_start (struct journal *journal, int fd,
                   struct blkhash_manifest_writer *writer,
                   struct error *error);

/* The blocks of RUN are known, whose leaves have LEAF_SIZE bytes: in their
 * order, and one thread at a time.  0, or an errno value, which sticks.
 */
int journal_tell (struct journal *journal,
                  const struct blkhash_manifest_run *run, size_t leaf_size);

/* Write what is left, and end.  0, or the first error, an errno value. */
int journal_stop (struct journal *journal);

#endif /* BLKSUM_JOURNAL_H */
