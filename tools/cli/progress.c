/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Show the progress of a job.
 *
 * Errors when the progress is written are ignored: hashing continues.
 */

#include <config.h>

#include <pthread.h>
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

#define INTERVAL 0.1            /* seconds after which the bar is drawn again
                                 * even if the percentage is the same */
#define MIN_RATE_TIME 1         /* seconds until the rate is meaningful */
#define MIN_LATENCY 1e6         /* ns: a shorter latency is not shown */
#define WEIGHT 0.1              /* weight of a read in the mean latency */

static struct progress_target target; /* set once */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects these: */
static bool begun;              /* progress began and has not ended */
static struct {
  bool bar, lines;              /* what is written to the target, if anything */
  const char *name;             /* name before the bar, or NULL */
  uint64_t size;                /* bytes, or PROGRESS_NO_SIZE */
  uint64_t done;                /* bytes */
  int percent;                  /* DONE in % of SIZE; below 100 until the end */
  double start, drawn;          /* when the progress began, and when the bar was
                                 * last drawn; seconds */
  double latency;               /* mean latency of recent reads, ns */
  unsigned in_flight;           /* reads in flight when the last one ended */
} now;

static bool
has_percent (void)
{
  return now.size > 0 && now.size != PROGRESS_NO_SIZE;
}

static double
seconds_since_start (void)
{
  return clock_seconds () - now.start;
}

/* ---- What is shown ---- */

static void
print_percent (void)
{
  char text[32];
  ssize_t r;

  snprintf (text, sizeof text, "%d/100\n", now.percent);
  r = write (target.fd, text, strlen (text));
  (void) r;
}

/* Describe the reads if their mean latency is long. */
static void
describe_reads (char *text, size_t room)
{
  if (now.latency >= MIN_LATENCY)
    progress_text_reads (text, room, now.in_flight, now.latency / 1e6);
}

static void
draw_percent (void)
{
  double seconds = seconds_since_start ();
  char text[80] = "", reads[80] = "";

  if (seconds >= MIN_RATE_TIME) {
    progress_text_left (text, sizeof text, now.done, now.size, seconds);
    describe_reads (reads, sizeof reads);
  }
  progress_bar_percent (target.fd, now.name, now.percent, text, reads);
}

static void
draw_bytes (void)
{
  char text[80], bytes[32], rate[32];

  progress_text_bytes (bytes, sizeof bytes, now.done);
  progress_text_rate (rate, sizeof rate, now.done, seconds_since_start ());
  snprintf (text, sizeof text, "%s, %s", bytes, rate);
  progress_bar_text (target.fd, now.name, text);
}

static void
draw (void)
{
  if (!now.bar)
    return;
  now.drawn = clock_seconds ();
  if (has_percent ())
    draw_percent ();
  else
    draw_bytes ();
}

static void
erase (void)
{
  if (now.bar)
    progress_bar_erase (target.fd);
}

/* ---- SIGUSR1 ---- */

/* "12.3 GiB of 100.0 GiB (12%) done, 1.2 GiB/s, 1:13 left" */
static void
describe (struct error *text)
{
  double seconds = seconds_since_start ();
  char done[32], size[32], rate[80];

  progress_text_bytes (done, sizeof done, now.done);
  if (!has_percent ()) {
    progress_text_rate (rate, sizeof rate, now.done, seconds);
    error_set (text, "%s done, %s", done, rate);
    return;
  }
  progress_text_bytes (size, sizeof size, now.size);
  progress_text_left (rate, sizeof rate, now.done, now.size, seconds);
  error_set (text, "%s of %s (%d%%) done, %s", done, size,
             (int) (100.0 * now.done / now.size), rate);
}

static void
print_status (void)
{
  struct error text = { "" };
  SCOPED_LOCK (&lock);

  if (!begun) {
    fputs ("blksum: nothing is being read\n", stderr);
    return;
  }
  erase ();
  describe (&text);
  if (now.name)
    report (now.name, &text);
  else
    fprintf (stderr, "blksum: %s\n", text.text);
  draw ();
}

/* ---- Functions that a job calls ---- */

static void
begin (const struct progress_form *form, uint64_t size)
{
  bool shown = target.fd != -1;
  SCOPED_LOCK (&lock);

  memset (&now, 0, sizeof now);
  now.bar = shown && target.bar && size > 0;
  now.lines = shown && !target.bar && !form->aside;
  now.name = form->name;
  now.size = size;
  now.start = clock_seconds ();
  begun = true;
  draw ();
  if (now.lines && has_percent ())
    print_percent ();
}

/* Returns true if the percentage changed.  100 is shown only after the sum was
 * computed.
 */
static bool
set_percent (void)
{
  int percent;

  if (!has_percent ())
    return false;
  percent = 100.0 * now.done / now.size;
  if (percent <= now.percent || percent >= 100)
    return false;
  now.percent = percent;
  return true;
}

static void
add (uint64_t len)
{
  bool changed;
  SCOPED_LOCK (&lock);

  now.done += len;
  if (!now.bar && !now.lines)
    return;
  changed = set_percent ();
  if (changed && now.lines)
    print_percent ();
  if (now.bar && (changed || clock_seconds () - now.drawn >= INTERVAL))
    draw ();
}

static void
reading (uint64_t latency, unsigned in_flight)
{
  SCOPED_LOCK (&lock);

  now.latency += (latency - now.latency) * WEIGHT;
  now.in_flight = in_flight;
}

static void
end (bool complete)
{
  SCOPED_LOCK (&lock);

  if (now.lines && complete) {
    now.percent = 100;
    print_percent ();
  }
  erase ();
  now.bar = begun = false;
}

void
progress_hide (void)
{
  pthread_mutex_lock (&lock);
  erase ();
}

void
progress_show (void)
{
  draw ();
  pthread_mutex_unlock (&lock);
}

const struct progress *
progress_start (const struct progress_target *where)
{
  static const struct progress progress = {
    .begin = begin, .add = add, .reading = reading, .end = end
  };

  target = *where;
  progress_signal_start (print_status);
  return &progress;
}
