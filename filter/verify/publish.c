/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write the states of blocks to the result, the status and the mapfile.
 *
 * A thread writes the files every few seconds, and when a client disconnects,
 * if anything has changed.  So no client waits for a write, and many clients
 * that disconnect need few writes.  When the server ends, the thread ends, and
 * the files are written once more.
 *
 * Only a request that fails waits until what it has found is written, because
 * nbdkit may not live longer: nbdkit 1.32 aborts if a client that has several
 * requests in flight disconnects when one fails.  Requests that fail at the
 * same time wait for the same write.  To limit the time that a disk takes in
 * which many blocks differ, they wait only for the first writes; the status
 * does not list more ranges than that.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "../lib/common/clock.h"
#include "../lib/common/util.h"
#include "../lib/manifest/manifest-index.h"
#include "output-file.h"
#include "result-file.h"
#include "result-lines.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/mapfile.h"
#include "verify/params.h"
#include "verify/publish.h"
#include "verify/result.h"
#include "verify/status.h"

#define INTERVAL 5              /* seconds */
#define MAX_AWAITED 1000        /* writes */

#define HEADER "# nbdkit-blkhash-verify-filter replaces this file\n"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static bool is_due, is_ending;
static pthread_cond_t woken;
static bool is_awaited;         /* a request waits for a write */
static unsigned awaited;        /* number of writes for which requests waited */
static uint64_t published;      /* tally_findings before the last write began */
static pthread_cond_t written;  /* PUBLISHED has changed */

static pthread_t thread;
static bool has_thread;         /* constant while clients are connected */

/* ---- The files ---- */

static int
open_files (const struct blkhash_opts *hash, bool create)
{
  result_form = (struct result_form) {
    .header = HEADER, .hash = hash, .name = verify_params.name, .differs = true
  };
  if (result_file_open ("blkhash-verify-file", verify_params.file,
                        create) == -1)
    return -1;
  if (verify_params.status &&
      output_file_open (&status_file, verify_params.status, create) == -1)
    return -1;
  return verify_params.mapfile
    ? output_file_open (&mapfile, verify_params.mapfile, create) : 0;
}

static int
check_files (void)
{
  return result_file_check () == -1 ||
    output_file_check (&status_file) == -1 ||
    output_file_check (&mapfile) == -1 ? -1 : 0;
}

static int
empty_files (void)
{
  return result_file_start () == -1 ||
    output_file_empty (&status_file) == -1 ||
    output_file_empty (&mapfile) == -1 ? -1 : 0;
}

static int
open_and_empty (const struct blkhash_opts *hash, bool create)
{
  if (open_files (hash, create) == 0 && check_files () == 0 &&
      empty_files () == 0)
    return 0;
  publish_close ();
  return -1;
}

/* The manifest, which has the hash parameters, is not open yet: use those of
 * the sum.  Without a valid sum, any are possible.
 */
int
publish_withdraw (void)
{
  struct expected_sum sum = { .opts = NULL };
  char reason[BLKHASH_MAX_REASON_SIZE];
  int r;

  if (verify_params.sum)
    expected_sum_parse (&sum, verify_params.sum, NULL, reason);
  r = open_and_empty (sum.opts, false);
  publish_close ();
  result_form.hash = NULL;
  expected_sum_destroy (&sum);
  return r;
}

int
publish_open (void)
{
  const struct export *export = exports_first_locked ();

  return open_and_empty (export ? manifest_index_opts (export->disk->index)
                                : NULL, true);
}

void
publish_close (void)
{
  has_thread = is_due = is_ending = is_awaited = false;
  awaited = 0;
  result_file_stop ();
  output_file_stop (&status_file);
  output_file_stop (&mapfile);
}

static void
write_files (bool finished)
{
  if (verify_params.file)
    result_write ();
  if (verify_params.status)
    status_write (finished);
  if (verify_params.mapfile)
    mapfile_write ();
}

/* ---- The thread ---- */

/* Returns the version of what the files show: a number that differs after each
 * change.  It is never 0, the version of files that were not written yet.
 */
static uint64_t
get_version (void)
{
  const struct export *export;
  uint64_t version;
  SCOPED_LOCK (&exports_lock);

  version = 1 + (exports_generation_locked () << 40);
  for (export = exports_first_locked (); export; export = export->next)
    version += disk_is_stopped (export->disk) +
      disk_has_changed (export->disk) +
      tally_get_changes (&export->disk->tally);
  return version;
}

/* Returns false if the server ends. */
static bool
wait_until_due (void)
{
  struct timespec deadline = deadline_in (INTERVAL * DEADLINE_SECOND);
  SCOPED_LOCK (&lock);

  while (!is_due && !is_ending &&
         deadline_wait (&woken, &lock, &deadline) != ETIMEDOUT)
    ;
  is_due = false;
  return !is_ending;
}

static void
set_published (uint64_t findings)
{
  SCOPED_LOCK (&lock);

  published = findings;
  awaited += is_awaited;
  is_awaited = false;
  pthread_cond_broadcast (&written);
}

static void *
write_repeatedly (void *opaque)
{
  uint64_t written_version = 0;

  (void) opaque;
  do {
    uint64_t findings = tally_findings ();
    uint64_t version = get_version ();

    if (version != written_version)
      write_files (false);
    written_version = version;
    set_published (findings);
  } while (wait_until_due ());
  return NULL;
}

int
publish_start (void)
{
  int err;

  if (!verify_params_have_output ())
    return 0;
  if (check_files () == -1)
    return -1;
  deadline_cond_init (&woken);
  deadline_cond_init (&written);
  err = pthread_create (&thread, NULL, write_repeatedly, NULL);
  if (err == 0) {
    has_thread = true;
    return 0;
  }
  nbdkit_error ("blkhash-verify: cannot start a thread: %s", strerror (err));
  return -1;
}

void
publish_wake (void)
{
  SCOPED_LOCK (&lock);

  is_due = true;
  if (has_thread)
    pthread_cond_signal (&woken);
}

void
publish_findings (void)
{
  struct timespec deadline = deadline_in (INTERVAL * DEADLINE_SECOND);
  uint64_t findings = tally_findings ();
  SCOPED_LOCK (&lock);

  if (!has_thread || published >= findings || awaited >= MAX_AWAITED)
    return;
  is_due = is_awaited = true;
  pthread_cond_signal (&woken);
  while (published < findings &&
         deadline_wait (&written, &lock, &deadline) != ETIMEDOUT)
    ;
}

static void
set_ending (void)
{
  SCOPED_LOCK (&lock);

  is_ending = true;
  pthread_cond_signal (&woken);
}

void
publish_finish (void)
{
  if (!has_thread)
    return;
  set_ending ();
  pthread_join (thread, NULL);
  write_files (true);
}
