/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The journal of --resume: an unfinished manifest to which leaves are appended
 * while the image is hashed.
 *
 * A background thread writes and syncs the file every few seconds.  To bound
 * memory, journal_append also writes if many leaves are pending, but it does
 * not sync, so it does not wait for the disk.
 */

#ifndef BLKSUM_JOURNAL_H
#define BLKSUM_JOURNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "../lib/manifest/leaf-runs.h"
#include "util/error.h"

struct blkhash_manifest_run;
struct files;
struct journal_file;

struct journal {
  struct leaf_runs runs;        /* see journal_follow */
  struct leaf_runs *all;        /* the ALL of journal_follow */
  struct error *reason;         /* the ERROR of journal_follow */

  const struct journal_file *file; /* its writer is protected by the lock */
  const struct files *files;    /* of the image, or NULL */
  pthread_t thread;

  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t ends;
  size_t pending;               /* number of blocks of data and runs of zeros
                                 * that are appended, but not written yet */
  struct error error;           /* the first error */
  bool end;
};

/* Start a journal that writes to FILE with file->writer.  Leaves are written
 * only if FILES are unchanged since they were opened; otherwise the journal
 * could have leaves of new data that is lost in a crash.  Returns 0, or -1 with
 * the reason; then the journal must not be stopped.
 */
int journal_start (struct journal *journal, const struct journal_file *file,
                   const struct files *files, struct error *error);

/* Append the leaves of RUN.  The caller appends runs in the order of the image,
 * from one thread at a time.  Returns 0, or -1 with the first error.
 */
int journal_append (struct journal *journal,
                    const struct blkhash_manifest_run *run,
                    struct error *error);

/* Returns an iterator of the runs of ALL that appends each run to JOURNAL, and
 * is a part of JOURNAL.  ERROR receives the reason of a failure.
 */
struct leaf_runs *journal_follow (struct journal *journal,
                                  struct leaf_runs *all, struct error *error);

/* Write and sync the remaining leaves, and end the thread.  Returns 0, or -1
 * with the first error; the journal is stopped either way.
 */
int journal_stop (struct journal *journal, struct error *error);

#endif /* BLKSUM_JOURNAL_H */
