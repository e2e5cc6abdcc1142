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
#include "progress.h"

#define BAR_WIDTH 50

static void
show (const struct progress *progress, const char *text)
{
  ssize_t r = write (progress->fd, text, strlen (text));

  (void) r;
}

static void
show_percent (const struct progress *progress)
{
  char text[BAR_WIDTH + 32], bar[BAR_WIDTH + 1];
  int full = progress->percent * BAR_WIDTH / 100;

  if (progress->bar) {
    memset (bar, ' ', BAR_WIDTH);
    memset (bar, '#', full);
    bar[BAR_WIDTH] = '\0';
    snprintf (text, sizeof text, "\r[%s] %3d%%", bar, progress->percent);
  }
  else
    snprintf (text, sizeof text, "%d/100\n", progress->percent);
  show (progress, text);
}

void
progress_init (struct progress *progress, int fd, bool bar, uint64_t size)
{
  *progress = (struct progress) {
    .fd = fd,
    .bar = bar,
    .size = size,
  };
  pthread_mutex_init (&progress->lock, NULL);
  if (fd != -1 && size > 0)
    show_percent (progress);
}

void
progress_add (struct progress *progress, uint64_t len)
{
  int percent;

  if (progress->fd == -1 || progress->size == 0)
    return;

  SCOPED_LOCK (&progress->lock);
  progress->done += len;
  percent = 100.0 * progress->done / progress->size;
  /* 100 is shown when there is a sum. */
  if (percent > progress->percent && percent < 100) {
    progress->percent = percent;
    show_percent (progress);
  }
}

void
progress_end (struct progress *progress, bool complete)
{
  if (progress->fd != -1) {
    if (complete && !progress->bar) {
      progress->percent = 100;
      show_percent (progress);
    }
    if (progress->bar && progress->size > 0)
      show (progress, "\r\033[K");
  }
  pthread_mutex_destroy (&progress->lock);
}
