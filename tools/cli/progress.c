/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How far one source is.
 *
 * Progress is a courtesy: when it cannot be written, hashing goes on.
 */

#include <config.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/common/cleanup.h"
#include "cli/progress.h"
#include "cli/progress-bar.h"
#include "cli/progress-signal.h"
#include "cli/progress-text.h"
#include "cli/report.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/request.h"

#define INTERVAL 0.1            /* seconds, at least, between two bars */
#define SETTLED 1               /* seconds; a rate says little before */

/* Of which tell tells.  Its lock is taken before that of CURRENT. */
static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static struct progress *current;

static bool
has_percent (const struct progress *progress)
{
  return progress->size > 0 && progress->size != PROGRESS_NO_SIZE;
}

/* Is there a line on a terminal? */
static bool
has_bar (const struct progress *progress)
{
  return progress->fd != -1 && progress->bar && progress->size > 0;
}

static double
seconds_since_start (const struct progress *progress)
{
  return clock_seconds () - progress->start;
}

/* ---- What is shown ---- */

static void
print_percent (const struct progress *progress)
{
  char text[32];
  ssize_t r;

  snprintf (text, sizeof text, "%d/100\n", progress->percent);
  r = write (progress->fd, text, strlen (text));
  (void) r;
}

static void
draw_percent (const struct progress *progress)
{
  double seconds = seconds_since_start (progress);
  char text[80] = "";

  if (seconds >= SETTLED)
    progress_text_left (text, sizeof text, progress->done, progress->size,
                        seconds);
  progress_bar_percent (progress->fd, progress->name, progress->percent, text);
}

static void
draw_bytes (const struct progress *progress)
{
  char text[80], bytes[32], rate[32];

  progress_text_bytes (bytes, sizeof bytes, progress->done);
  progress_text_rate (rate, sizeof rate, progress->done,
                      seconds_since_start (progress));
  snprintf (text, sizeof text, "%s, %s", bytes, rate);
  progress_bar_text (progress->fd, progress->name, text);
}

static void
draw (struct progress *progress)
{
  progress->shown = clock_seconds ();
  if (has_percent (progress))
    draw_percent (progress);
  else
    draw_bytes (progress);
}

/* ---- Who asks ---- */

/* "12.3 GiB of 100.0 GiB (12%) done, 1.2 GiB/s, 1:13 left" */
static void
describe (const struct progress *progress, struct error *text)
{
  double seconds = seconds_since_start (progress);
  char done[32], size[32], rate[80];

  progress_text_bytes (done, sizeof done, progress->done);
  if (!has_percent (progress)) {
    progress_text_rate (rate, sizeof rate, progress->done, seconds);
    error_set (text, "%s done, %s", done, rate);
    return;
  }
  progress_text_bytes (size, sizeof size, progress->size);
  progress_text_left (rate, sizeof rate, progress->done, progress->size,
                      seconds);
  error_set (text, "%s of %s (%d%%) done, %s", done, size,
             (int) (100.0 * progress->done / progress->size), rate);
}

static void
tell (void)
{
  struct error text = { "" };
  SCOPED_LOCK (&current_lock);

  if (!current) {
    fputs ("blksum: nothing is read at this moment\n", stderr);
    return;
  }
  progress_hide (current);
  describe (current, &text);
  if (current->name)
    report (current->name, &text);
  else
    fprintf (stderr, "blksum: %s\n", text.text);
  progress_show (current);
}

void
progress_listen (void)
{
  progress_signal_answer (tell);
}

/* ---- How far it is ---- */

static void
set_current (struct progress *progress)
{
  SCOPED_LOCK (&current_lock);

  current = progress;
}

void
progress_init (struct progress *progress, const struct progress_form *form,
               uint64_t size)
{
  *progress = (struct progress) {
    .fd = form->fd,
    .bar = form->bar,
    .name = form->name,
    .size = size,
    .start = clock_seconds (),
  };
  pthread_mutex_init (&progress->lock, NULL);
  if (has_bar (progress))
    draw (progress);
  else if (progress->fd != -1 && !progress->bar && has_percent (progress))
    print_percent (progress);
  set_current (progress);
}

void
progress_init_aside (struct progress *progress,
                     const struct progress_form *form, uint64_t size)
{
  struct progress_form its_form = *form;

  if (!form->bar)
    its_form.fd = -1;
  progress_init (progress, &its_form, size);
}

/* Did the percent change?  100 is shown when there is a sum. */
static bool
set_percent (struct progress *progress)
{
  int percent;

  if (!has_percent (progress))
    return false;
  percent = 100.0 * progress->done / progress->size;
  if (percent <= progress->percent || percent >= 100)
    return false;
  progress->percent = percent;
  return true;
}

void
progress_add (struct progress *progress, uint64_t len)
{
  bool changed;
  SCOPED_LOCK (&progress->lock);

  progress->done += len;
  if (progress->fd == -1)
    return;
  changed = set_percent (progress);
  if (has_bar (progress)) {
    if (changed || clock_seconds () - progress->shown >= INTERVAL)
      draw (progress);
  }
  else if (changed)
    print_percent (progress);
}

void
progress_hide (struct progress *progress)
{
  pthread_mutex_lock (&progress->lock);
  if (has_bar (progress))
    progress_bar_wipe (progress->fd);
}

void
progress_show (struct progress *progress)
{
  if (has_bar (progress))
    draw (progress);
  pthread_mutex_unlock (&progress->lock);
}

void
progress_end (struct progress *progress, bool complete)
{
  set_current (NULL);
  if (progress->fd != -1 && !progress->bar && complete) {
    progress->percent = 100;
    print_percent (progress);
  }
  if (has_bar (progress))
    progress_bar_wipe (progress->fd);
  pthread_mutex_destroy (&progress->lock);
}
