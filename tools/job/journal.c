/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The journal of --resume: an unfinished manifest.
 */

#include <config.h>

#include <errno.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "../lib/common/cleanup.h"
#include "../lib/common/deadline.h"
#include "../lib/manifest/manifest-unfinished.h"
#include "io/files.h"
#include "job/journal-file.h"
#include "job/journal.h"
#include "util/error.h"

#define INTERVAL (2 * DEADLINE_SECOND) /* ns between two syncs */
#define MAX_PENDING 8192        /* limit of journal->pending */

static int
fail_locked (struct journal *journal, int err)
{
  return error_errno (&journal->error, err, "cannot write the unfinished "
                      "manifest");
}

/* Write the leaves that were appended.  Returns 0 or -1. */
static int
write_locked (struct journal *journal)
{
  int err;

  journal->pending = 0;
  if (error_is_set (&journal->error) ||
      (journal->files &&
       files_check_unchanged (journal->files, &journal->error) == -1))
    return -1;
  err = manifest_writer_flush (journal->file->writer);
  return err ? fail_locked (journal, err) : 0;
}

/* The lock is not held during the sync, so journal_append does not wait for the
 * disk.
 */
static void
sync_locked (struct journal *journal)
{
  int err;

  if (write_locked (journal) == -1)
    return;
  pthread_mutex_unlock (&journal->lock);
  err = fdatasync (journal->file->fd) == -1 ? errno : 0;
  pthread_mutex_lock (&journal->lock);
  if (err)
    fail_locked (journal, err);
}

/* Wait until the next sync is due, or the journal ends. */
static void
wait_locked (struct journal *journal)
{
  const struct timespec deadline = deadline_in (INTERVAL);
  int r = 0;

  while (!journal->end && r == 0)
    r = deadline_wait (&journal->ends, &journal->lock, &deadline);
}

/* The thread reads END before it writes, so all leaves that were appended
 * before END was set are written.
 */
static void *
run (void *opaque)
{
  struct journal *journal = opaque;
  bool end;
  SCOPED_LOCK (&journal->lock);

  do {
    wait_locked (journal);
    end = journal->end;
    sync_locked (journal);
  } while (!end);
  return NULL;
}

int
journal_start (struct journal *journal, const struct journal_file *file,
               const struct files *files, struct error *error)
{
  int err;

  *journal = (struct journal) { .file = file, .files = files };
  pthread_mutex_init (&journal->lock, NULL);
  deadline_cond_init (&journal->ends);
  err = pthread_create (&journal->thread, NULL, run, journal);
  if (err == 0)
    return 0;
  pthread_cond_destroy (&journal->ends);
  pthread_mutex_destroy (&journal->lock);
  return error_errno (error, err, "cannot start a thread");
}

static int
append_locked (struct journal *journal, const struct blkhash_manifest_run *run)
{
  struct blkhash_leaf_sink sink =
    blkhash_manifest_writer_sink (journal->file->writer);
  int err = run->leaves
    ? sink.data (sink.opaque, run->first, run->count, run->leaves,
                 run->leaf_size)
    : sink.zero (sink.opaque, run->first, run->count);

  if (err)
    return fail_locked (journal, err);
  journal->pending += run->leaves ? run->count : 1;
  return journal->pending < MAX_PENDING ? 0 : write_locked (journal);
}

int
journal_append (struct journal *journal, const struct blkhash_manifest_run *run,
                struct error *error)
{
  SCOPED_LOCK (&journal->lock);

  if (!error_is_set (&journal->error) && append_locked (journal, run) == 0)
    return 0;
  return error_set (error, "%s", journal->error.text);
}

static int
next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct journal *journal = (struct journal *) runs;
  int err = journal->all->next (journal->all, run);

  if (err)
    return err;
  return journal_append (journal, run, journal->reason) == 0 ? 0 : ECANCELED;
}

struct leaf_runs *
journal_follow (struct journal *journal, struct leaf_runs *all,
                struct error *error)
{
  journal->runs.next = next;
  journal->all = all;
  journal->reason = error;
  return &journal->runs;
}

int
journal_stop (struct journal *journal, struct error *error)
{
  {
    SCOPED_LOCK (&journal->lock);

    journal->end = true;
    pthread_cond_signal (&journal->ends);
  }
  pthread_join (journal->thread, NULL);
  pthread_cond_destroy (&journal->ends);
  pthread_mutex_destroy (&journal->lock);
  if (!error_is_set (&journal->error))
    return 0;
  return error_set (error, "%s", journal->error.text);
}
