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
 *   disk, see output-file.c.
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

#include "../lib/cleanup.h"
#include "../lib/sum-line.h"
#include "output-file.h"
#include "params.h"
#include "report.h"

static struct output_file result = { .param = "blkhash-file" };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static struct report_line *lines, **lines_tail = &lines;
static uint64_t said;           /* how often anything was said */
static bool lost;               /* there was no memory to say something */
static bool writing;            /* a thread writes, without the lock */
static pthread_cond_t written_changed = PTHREAD_COND_INITIALIZER;
/* Changed with the lock, read without: of SAID, what is in the file, and when
 * the last sum was withdrawn.
 */
static uint64_t written, withdrawn;

/* ---- Where it goes ---- */

int
report_start (void)
{
  return params.file ? output_file_start (&result, params.file) : 0;
}

int
report_check (void)
{
  return output_file_check (&result);
}

void
report_stop (void)
{
  output_file_stop (&result);
}

/* ---- What is to be written ---- */

/* In the file are all lines; on stderr comes what was not printed yet. */
static bool
is_to_be_written (const struct report_line *line)
{
  return line->text && (params.file || !line->printed);
}

/* What is to be written, in one string.  NULL: no memory. */
static char *
join_lines_locked (void)
{
  struct report_line *line;
  char *text, *end;
  size_t len = 1;

  for (line = lines; line; line = line->next)
    len += is_to_be_written (line) ? strlen (line->text) : 0;
  text = end = malloc (len);
  if (!text)
    return NULL;
  *text = '\0';
  for (line = lines; line; line = line->next)
    if (is_to_be_written (line)) {
      end = stpcpy (end, line->text);
      line->printed = true;
    }
  return text;
}

/* Lets go of the lock while it writes. */
static void
write_state_locked (void)
{
  char *text = join_lines_locked ();
  bool sync = withdrawn > written, no_memory = lost;
  uint64_t version = said;

  lost = false;
  writing = true;
  pthread_mutex_unlock (&lock);
  if (params.file)
    output_file_write (&result, text, sync);
  else if (text)
    fputs (text, stderr);
  if (no_memory || !text)
    nbdkit_error ("blkhash: no memory for the result");
  free (text);
  pthread_mutex_lock (&lock);
  writing = false;
  __atomic_store_n (&written, version, __ATOMIC_RELEASE);
  pthread_cond_broadcast (&written_changed);
}

static void
write_until_locked (uint64_t version)
{
  while (written < version)
    if (writing)
      pthread_cond_wait (&written_changed, &lock);
    else
      write_state_locked ();
}

void
report_write (void)
{
  SCOPED_LOCK (&lock);

  write_until_locked (said);
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

/* ---- What is said ---- */

/* Takes TEXT over.  NULL: nothing is to be said. */
static void
say_locked (struct report_line *line, char *text, bool is_sum)
{
  if (!line->listed) {
    *lines_tail = line;
    lines_tail = &line->next;
    line->listed = true;
  }
  said++;
  if (line->is_sum)
    __atomic_store_n (&withdrawn, said, __ATOMIC_RELEASE);
  free (line->text);
  line->text = text;
  line->is_sum = is_sum;
  line->printed = false;
}

/* No memory to say it: then at least nothing stale is said. */
static void
say_or_withdraw (struct report_line *line, char *text, bool is_sum)
{
  SCOPED_LOCK (&lock);

  lost |= !text;
  say_locked (line, text, is_sum && text);
}

void
report_sum (struct report_line *line, const char *name,
            const unsigned char *md, size_t len)
{
  char *sum = sum_line (params.hash, md, len, name, params.tag, true);
  char *text = NULL;

  if (sum && asprintf (&text, "%s\n", sum) == -1)
    text = NULL;
  free (sum);
  say_or_withdraw (line, text, true);
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
  say_or_withdraw (line, text, false);
}

void
report_withdraw (struct report_line *line)
{
  SCOPED_LOCK (&lock);

  say_locked (line, NULL, false);
}
