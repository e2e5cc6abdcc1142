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

#include "../lib/manifest/leaf-runs.h"
#include "util/error.h"

struct blkhash_manifest_run;
struct blkhash_manifest_writer;
struct files;

struct journal {
  int fd;
  const struct files *files;    /* of the image, or NULL */
  pthread_t thread;

  pthread_mutex_t lock;         /* protects what follows */
  pthread_cond_t ends;
  struct blkhash_manifest_writer *writer;
  size_t told;                  /* blocks, and runs of zeros, that are not
                                 * written */
  struct error error;           /* the first */
  bool end;
};

/* Begin to write to FD by WRITER, which becomes the journal's in any case.
 * What is told is written if FILES are still what they were when they were
 * opened, so that leaves are never of a state of the image that a crash undoes.
 * 0, or -1 with the reason: then there is nothing to be stopped.
 */
int journal_start (struct journal *journal, int fd, const struct files *files,
                   struct blkhash_manifest_writer *writer,
                   struct error *error);

/* The blocks of RUN are known: in their order, and one thread at a time.  0, or
 * -1 with the first reason.
 */
int journal_tell (struct journal *journal,
                  const struct blkhash_manifest_run *run,
                  struct error *error);

/* The leaves of ALL, as an iterator: the journal is told of what is taken. */
struct journal_runs {
  struct leaf_runs runs;
  struct leaf_runs *all;
  struct journal *journal;
  struct error *error;          /* where the reason is wanted */
};

void journal_runs_init (struct journal_runs *journal_runs,
                        struct leaf_runs *all, struct journal *journal,
                        struct error *error);

/* Write what is left, and end.  0, or -1 with the first reason. */
int journal_stop (struct journal *journal, struct error *error);

#endif /* BLKSUM_JOURNAL_H */
