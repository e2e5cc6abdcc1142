/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is said of each export, and when it is written.
 *
 * What is said is numbered, under the lock; it is written without it, by a
 * thread that said something or waits for what was said, one at a time.  Such a
 * thread takes all that was said until then, so states reach the file in their
 * order, and those who wait share a write.
 *
 * No client sees its write acknowledged while a stale sum can still come back
 * after a crash:
 *
 * - What a change makes wrong is withdrawn here before the plugin is told of
 *   the change, under exports_lock, as is whatever is published.  A sum is only
 *   published when no change is in flight, so none comes in between.
 * - Before the plugin is told, the change waits in report_await_withdrawals,
 *   also for what others withdrew: until a state that was taken later is on the
 *   disk, see result-file.c.
 * - The manifest is said, and withdrawn, with the sum of the same leaves.  It
 *   is written before that is said, see manifest.c, and only moved here.
 * - When that fails the file is emptied or removed, and when nothing works that
 *   is in the log, and the change goes on: a filter for checksums does not stop
 *   a disk.
 *
 * A state that withdraws nothing need not be on the disk: a sum that is new may
 * be lost in a crash.
 */

#include <config.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "blkhash.h"

#include "../lib/common/cleanup.h"
#include "../lib/common/sum-line.h"
#include "manifest.h"
#include "params.h"
#include "report.h"
#include "result-file.h"

_Static_assert (REPORT_MD_SIZE == BLKHASH_MAX_MD_SIZE, "the longest sum");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static struct report_line *lines, **lines_tail = &lines;
static size_t nr_lines;
/* Of which something was said that is not written yet. */
static struct report_line *changed, **changed_tail = &changed;
static size_t nr_changed;
static uint64_t latest;         /* how often anything was said */
static bool lost;               /* there was no memory to say something */
static bool writing;            /* a thread writes, without the lock */
static struct report_line *manifest; /* of whose sum there is one, or NULL */
static bool manifest_is_new;    /* it is still to be moved into its place */
static bool manifest_is_there;  /* one is in its place, maybe another one */
static bool disagreed;          /* the sums of one disk */
static pthread_cond_t written_changed = PTHREAD_COND_INITIALIZER;
/* Changed with the lock, read without: of SAID, what is in the file, and when
 * the last sum was withdrawn.
 */
static uint64_t written, withdrawn;

/* ---- Where it goes ---- */

int
report_start (void)
{
  if (result_file_open () == -1 || result_file_lock () == -1 ||
      manifest_open () == -1 || manifest_lock () == -1 ||
      report_check () == -1 ||
      result_file_start () == -1 || manifest_start () == -1) {
    report_stop ();
    return -1;
  }
  return 0;
}

int
report_check (void)
{
  return result_file_check () == -1 ? -1 : manifest_check ();
}

void
report_stop (void)
{
  result_file_stop ();
  manifest_stop ();
}

/* ---- What is to be written ---- */

/* What is to be written, with what went wrong since the last time. */
struct state {
  uint64_t version;
  bool whole;                   /* of the file all lines, not only changes */
  struct result_change *changes; /* NULL: no memory */
  size_t nr_changes;
  bool sync;
  bool move_manifest, empty_manifest;
  bool no_memory, disagreed;
};

static void
free_changes (struct state *state)
{
  size_t i;

  for (i = 0; state->changes && i < state->nr_changes; i++)
    free (state->changes[i].text);
  free (state->changes);
  state->changes = NULL;
}

static void
take_line_locked (struct state *state, struct report_line *line)
{
  struct result_change *change;

  if (!state->changes)
    return;
  change = &state->changes[state->nr_changes++];
  change->place = &line->place;
  change->text = line->text ? strdup (line->text) : NULL;
  if (line->text && !change->text)
    free_changes (state);
}

static void
take_lines_locked (struct state *state)
{
  size_t max = state->whole ? nr_lines : nr_changed;
  struct report_line *line;

  state->changes = calloc (max + 1, sizeof *state->changes);
  for (line = lines; state->whole && line; line = line->next)
    take_line_locked (state, line);
  for (line = changed; line; line = line->next_changed) {
    if (!state->whole)
      take_line_locked (state, line);
    line->changed = false;
  }
  changed = NULL;
  changed_tail = &changed;
  nr_changed = 0;
}

static struct state
take_state_locked (void)
{
  struct state state = {
    .version = latest,
    .whole = params.file && !result_file_takes_changes (),
    .sync = withdrawn > written,
    .move_manifest = manifest_is_new,
    .empty_manifest = manifest_is_there && !manifest,
    .no_memory = lost,
    .disagreed = disagreed
  };

  take_lines_locked (&state);
  state.no_memory |= !state.changes;
  lost = disagreed = manifest_is_new = false;
  manifest_is_there = manifest != NULL;
  return state;
}

static void
print_lines (const struct state *state)
{
  size_t i;

  for (i = 0; state->changes && i < state->nr_changes; i++)
    if (state->changes[i].text)
      fputs (state->changes[i].text, stderr);
}

/* The manifest is there before the line that tells of it.  False if all has to
 * be written.
 */
static bool
write_state (const struct state *state)
{
  bool is_written = true;

  if (state->move_manifest)
    manifest_move ();
  if (state->empty_manifest)
    manifest_empty ();
  if (!params.file)
    print_lines (state);
  else if (state->whole || !state->changes)
    result_file_replace (state->changes, state->nr_changes, state->sync);
  else
    is_written = result_file_change (state->changes, state->nr_changes,
                                     state->sync);
  if (state->no_memory)
    nbdkit_error ("blkhash: no memory for the result");
  if (state->disagreed)
    nbdkit_error ("blkhash: the sums of export names differ, so there is no "
                  "manifest");
  return is_written;
}

/* Lets go of the lock while it writes. */
static void
write_next_locked (void)
{
  struct state state = take_state_locked ();
  bool is_written;

  writing = true;
  pthread_mutex_unlock (&lock);
  is_written = write_state (&state);
  free_changes (&state);
  pthread_mutex_lock (&lock);
  writing = false;
  if (is_written)
    __atomic_store_n (&written, state.version, __ATOMIC_RELEASE);
  pthread_cond_broadcast (&written_changed);
}

static void
write_until_locked (uint64_t version)
{
  while (written < version)
    if (writing)
      pthread_cond_wait (&written_changed, &lock);
    else
      write_next_locked ();
}

void
report_write (void)
{
  SCOPED_LOCK (&lock);

  write_until_locked (latest);
}

void
report_await_withdrawals (void)
{
  if (__atomic_load_n (&withdrawn, __ATOMIC_ACQUIRE) <=
      __atomic_load_n (&written, __ATOMIC_ACQUIRE))
    return;

  SCOPED_LOCK (&lock);
  write_until_locked (withdrawn);
}

bool
report_is_empty (void)
{
  const struct report_line *line;
  SCOPED_LOCK (&lock);

  for (line = lines; line; line = line->next)
    if (line->text)
      return false;
  return true;
}

/* ---- What is said ---- */

/* Takes TEXT over.  NULL: nothing is to be said. */
static void
set_line_locked (struct report_line *line, char *text, bool is_sum)
{
  if (!line->listed) {
    *lines_tail = line;
    lines_tail = &line->next;
    line->listed = true;
    nr_lines++;
  }
  if (!line->changed) {
    line->next_changed = NULL;
    *changed_tail = line;
    changed_tail = &line->next_changed;
    line->changed = true;
    nr_changed++;
  }
  latest++;
  if (line->is_sum)
    __atomic_store_n (&withdrawn, latest, __ATOMIC_RELEASE);
  free (line->text);
  line->text = text;
  line->is_sum = is_sum;
  if (manifest == line) {
    manifest = NULL;
    manifest_is_new = false;
  }
}

/* No memory to say it: then at least nothing stale is said. */
static void
set_or_withdraw_locked (struct report_line *line, char *text, bool is_sum)
{
  lost |= !text;
  set_line_locked (line, text, is_sum && text);
}

/* Has another line another sum?  Then the names are not those of one disk. */
static bool
disagrees_locked (const struct report_line *line)
{
  const struct report_line *other;

  for (other = lines; other; other = other->next)
    if (other->is_sum && memcmp (other->md, line->md, sizeof line->md) != 0)
      return true;
  return false;
}

/* LINE has the sum MD, and maybe a new manifest. */
static void
set_manifest_locked (struct report_line *line,
                     const unsigned char *md, size_t len, bool is_new)
{
  memset (line->md, 0, sizeof line->md);
  memcpy (line->md, md, len);
  if (disagrees_locked (line)) {
    disagreed = true;
    manifest = NULL;
    manifest_is_new = false;
  }
  else if (is_new) {
    manifest = line;
    manifest_is_new = true;
  }
}

void
report_sum (struct report_line *line, const char *name,
            const unsigned char *md, size_t len, bool has_manifest)
{
  char *sum = sum_line (params.hash, md, len, name, params.tag, true);
  char *text = NULL;

  if (sum && asprintf (&text, "%s\n", sum) == -1)
    text = NULL;
  free (sum);

  SCOPED_LOCK (&lock);
  set_or_withdraw_locked (line, text, true);
  if (text && params.manifest)
    set_manifest_locked (line, md, len, has_manifest);
}

void
report_incomplete (struct report_line *line, const char *name,
                   const char *why)
{
  char *escaped = sum_line_escape (name);
  char *text = NULL;

  if (escaped &&
      asprintf (&text, "# incomplete %s: %s\n", escaped, why) == -1)
    text = NULL;
  free (escaped);

  SCOPED_LOCK (&lock);
  set_or_withdraw_locked (line, text, false);
}

void
report_withdraw (struct report_line *line)
{
  SCOPED_LOCK (&lock);

  set_line_locked (line, NULL, false);
}
