/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines of exports, and when they are written.  See report.h.
 */

#include <config.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "../lib/common/sums.h"
#include "../lib/common/util.h"
#include "blkhash.h"
#include "blkhash/manifest-save.h"
#include "blkhash/params.h"
#include "blkhash/report.h"
#include "common/result-file.h"

_Static_assert (REPORT_MD_SIZE == BLKHASH_MAX_MD_SIZE, "the longest sum");

/* Protects the variables below. */
static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;
static struct report_line *lines, **lines_tail = &lines;
static size_t lines_len;        /* bytes of all lines */
static uint64_t latest_version;
static bool no_memory;          /* there was no memory for a line; this is not
                                 * logged yet */
static bool writing;            /* a thread writes, without the lock */
static struct report_line *manifest; /* the line with the sum of the
                                      * manifest; NULL: there is none */
static bool manifest_is_new;    /* the new manifest is not renamed yet */
static bool manifest_is_there;  /* the manifest file is not empty; it may have
                                 * an old manifest */
static bool sums_differ;        /* two exports have different sums; this is not
                                 * logged yet */
static pthread_cond_t write_ended = PTHREAD_COND_INITIALIZER;
/* Set under the lock, read without the lock: the version that is in the
 * result file, and the version of the last withdrawal of a sum.
 */
static uint64_t written_version, withdrawn_version;

/* ---- Writing ---- */

/* What to write, with the errors since the last write. */
struct state {
  uint64_t version;
  char *text;                   /* NULL: no memory */
  bool move_manifest, empty_manifest;
  bool no_memory, sums_differ;
};

/* Returns the lines: all for the file, or at least more than fit, and those
 * that are new for stderr.  Returns NULL if there is no memory.
 */
static char *
take_text_locked (void)
{
  char *text = malloc (lines_len + 1), *end = text;
  struct report_line *line;

  if (!text)
    return NULL;
  *end = '\0';
  for (line = lines; line; line = line->next)
    if (line->text &&
        (params.file ? end - text <= RESULT_MAX : !line->printed)) {
      end = stpcpy (end, line->text);
      line->printed = true;
    }
  return text;
}

static struct state
take_state_locked (void)
{
  struct state state = {
    .version = latest_version,
    .text = take_text_locked (),
    .move_manifest = manifest_is_new,
    .empty_manifest = manifest_is_there && !manifest,
    .no_memory = no_memory,
    .sums_differ = sums_differ
  };

  state.no_memory |= !state.text;
  no_memory = sums_differ = manifest_is_new = false;
  manifest_is_there = manifest != NULL;
  return state;
}

/* The manifest is renamed before the line with its sum is written. */
static void
write_state (const struct state *state)
{
  if (state->move_manifest)
    manifest_move ();
  if (state->empty_manifest)
    manifest_empty ();
  if (params.file)
    result_file_write (state->text);
  else if (state->text)
    fputs (state->text, stderr);
  if (state->no_memory)
    nbdkit_error ("blkhash: no memory for the result");
  if (state->sums_differ)
    nbdkit_error ("blkhash: the sums of export names differ, so there is no "
                  "manifest");
}

/* Write the latest version.  The lock is released during the write. */
static void
write_next_locked (void)
{
  struct state state = take_state_locked ();

  writing = true;
  pthread_mutex_unlock (&report_lock);
  write_state (&state);
  free (state.text);
  pthread_mutex_lock (&report_lock);
  writing = false;
  __atomic_store_n (&written_version, state.version, __ATOMIC_RELEASE);
  pthread_cond_broadcast (&write_ended);
}

static void
write_until_locked (uint64_t version)
{
  while (written_version < version)
    if (writing)
      pthread_cond_wait (&write_ended, &report_lock);
    else
      write_next_locked ();
}

void
report_write (void)
{
  SCOPED_LOCK (&report_lock);

  write_until_locked (latest_version);
}

void
report_await_withdrawals (void)
{
  if (__atomic_load_n (&withdrawn_version, __ATOMIC_ACQUIRE) <=
      __atomic_load_n (&written_version, __ATOMIC_ACQUIRE))
    return;

  SCOPED_LOCK (&report_lock);
  write_until_locked (withdrawn_version);
}

void
report_keep_manifest (struct report_line *line)
{
  line->is_sum = true;
  manifest = line;
  manifest_is_there = true;
}

bool
report_is_empty (void)
{
  SCOPED_LOCK (&report_lock);

  return lines_len == 0;
}

/* ---- Lines ---- */

/* Set the text of a line, and take ownership of TEXT.  If TEXT is NULL, the
 * line is removed.  If the line had a sum, that sum is withdrawn.
 */
static void
set_line_locked (struct report_line *line, char *text, bool is_sum)
{
  if (!line->was_set) {
    *lines_tail = line;
    lines_tail = &line->next;
    line->was_set = true;
  }
  latest_version++;
  if (line->is_sum)
    __atomic_store_n (&withdrawn_version, latest_version, __ATOMIC_RELEASE);
  lines_len += text ? strlen (text) : 0;
  lines_len -= line->text ? strlen (line->text) : 0;
  free (line->text);
  line->text = text;
  line->printed = false;
  line->is_sum = is_sum;
  if (manifest == line) {
    manifest = NULL;
    manifest_is_new = false;
  }
}

/* TEXT is NULL if there is no memory; then the old line is removed. */
static void
set_or_withdraw_locked (struct report_line *line, char *text, bool is_sum)
{
  no_memory |= !text;
  set_line_locked (line, text, is_sum && text);
}

/* Returns true if another line has a different sum.  Then the exports are
 * different disks.
 */
static bool
differs_locked (const struct report_line *line)
{
  const struct report_line *other;

  for (other = lines; other; other = other->next)
    if (other->is_sum && memcmp (other->md, line->md, sizeof line->md) != 0)
      return true;
  return false;
}

/* Record that LINE has the sum MD, and a new manifest if IS_NEW.  If another
 * line has a different sum, there is no manifest.
 */
static void
set_manifest_locked (struct report_line *line,
                     const unsigned char *md, size_t len, bool is_new)
{
  memset (line->md, 0, sizeof line->md);
  memcpy (line->md, md, len);
  if (differs_locked (line)) {
    sums_differ = true;
    manifest = NULL;
    manifest_is_new = false;
  }
  else if (is_new) {
    manifest = line;
    manifest_is_new = true;
  }
}

bool
report_sum (struct report_line *line, const char *name,
            const unsigned char *md, size_t len, bool has_manifest)
{
  char *sum = sum_line (params.hash, md, len, name, params.tag, true);
  char *text = NULL;

  if (sum && asprintf (&text, "%s\n", sum) == -1)
    text = NULL;
  free (sum);

  SCOPED_LOCK (&report_lock);
  set_or_withdraw_locked (line, text, true);
  if (text && params.manifest)
    set_manifest_locked (line, md, len, has_manifest);
  return text != NULL;
}

void
report_unknown (struct report_line *line, const char *name,
                const char *why)
{
  char *escaped = sum_line_escape (name);
  char *text = NULL;

  if (escaped &&
      asprintf (&text, "# unknown %s: %s\n", escaped, why) == -1)
    text = NULL;
  free (escaped);

  SCOPED_LOCK (&report_lock);
  set_or_withdraw_locked (line, text, false);
}

void
report_withdraw (struct report_line *line)
{
  SCOPED_LOCK (&report_lock);

  set_line_locked (line, NULL, false);
}
