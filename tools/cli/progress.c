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

#include "../lib/cleanup.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/progress-bar.h"
#include "util/clock.h"

#define INTERVAL 0.1            /* seconds, at least, between two numbers */

static bool
has_percent (const struct progress *progress)
{
  return progress->size > 0 && progress->size != PROGRESS_NO_SIZE;
}

/* Is there a line on a terminal? */
static bool
has_bar (const struct progress *progress)
{
  return progress->bar && progress->size > 0;
}

static void
show_percent (const struct progress *progress)
{
  char text[16];
  ssize_t r;

  if (progress->bar) {
    progress_bar_percent (progress->fd, progress->name, progress->percent);
    return;
  }
  snprintf (text, sizeof text, "%d/100\n", progress->percent);
  r = write (progress->fd, text, strlen (text));
  (void) r;
}

static void
show_bytes (struct progress *progress)
{
  double time = clock_seconds (), seconds = time - progress->start;

  if (progress->done > 0 && time - progress->shown < INTERVAL)
    return;
  progress->shown = time;
  progress_bar_bytes (progress->fd, progress->name, progress->done,
                      seconds > 0 ? progress->done / seconds : 0);
}

void
progress_init (struct progress *progress, const struct options *options,
               uint64_t size)
{
  *progress = (struct progress) {
    .fd = options->progress_fd,
    .bar = options->progress_bar,
    .name = options->progress_name,
    .size = size,
    .start = clock_seconds (),
  };
  pthread_mutex_init (&progress->lock, NULL);
  if (progress->fd == -1)
    return;
  if (has_percent (progress))
    show_percent (progress);
  else if (has_bar (progress))
    show_bytes (progress);
}

void
progress_add (struct progress *progress, uint64_t len)
{
  int percent;

  if (progress->fd == -1)
    return;

  SCOPED_LOCK (&progress->lock);
  progress->done += len;
  if (!has_percent (progress)) {
    if (has_bar (progress))
      show_bytes (progress);
    return;
  }
  percent = 100.0 * progress->done / progress->size;
  /* 100 is shown when there is a sum. */
  if (percent > progress->percent && percent < 100) {
    progress->percent = percent;
    show_percent (progress);
  }
}

void
progress_hide (struct progress *progress)
{
  pthread_mutex_lock (&progress->lock);
  if (progress->fd != -1 && has_bar (progress))
    progress_bar_wipe (progress->fd);
}

void
progress_show (struct progress *progress)
{
  if (progress->fd != -1 && has_bar (progress)) {
    if (has_percent (progress))
      show_percent (progress);
    else {
      progress->shown = 0;
      show_bytes (progress);
    }
  }
  pthread_mutex_unlock (&progress->lock);
}

void
progress_end (struct progress *progress, bool complete)
{
  if (progress->fd != -1) {
    if (complete && !progress->bar) {
      progress->percent = 100;
      show_percent (progress);
    }
    if (has_bar (progress))
      progress_bar_wipe (progress->fd);
  }
  pthread_mutex_destroy (&progress->lock);
}
