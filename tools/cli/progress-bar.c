/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The bar is as wide as the terminal.  This width is read each time, because
 * the user can change it.  The last column stays free, because some terminals
 * wrap the line after it.
 *
 * A thread waits for SIGUSR1, because a signal handler must not print.
 *
 * Errors when the progress is written are ignored: hashing continues.
 */

#include <config.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "../lib/common/clock.h"
#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "cli/program.h"
#include "cli/progress-bar.h"
#include "util/error.h"

#define INTERVAL 0.1            /* seconds after which the bar is drawn again
                                 * even if the percentage is the same */
#define MIN_RATE_TIME 1         /* seconds until the rate is meaningful */
#define MAX_LEFT (999 * 3600)   /* seconds; a longer time is not shown */

/* Columns of the bar. */
#define DEFAULT_WIDTH 80        /* if the terminal reports no width */
#define PERCENT_WIDTH 4         /* "100%" */
#define MIN_BAR 5               /* minimum width of a bar with its brackets */
#define RATE_WIDTH 24           /* reserved for the rate, so that the bar keeps
                                 * its width */
#define MIN_NAME_AND_BAR 16     /* minimum width of both if the rate is shown */
#define CUT "..."

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
} now;

static bool
has_percent (void)
{
  return now.size > 0 && now.size != PROGRESS_NO_SIZE;
}

/* Write the LEN bytes of TEXT to the target in one call. */
static void
show (const char *text, size_t len)
{
  ssize_t r = write (target.fd, text, len);

  (void) r;
}

/* ---- Numbers ---- */

/* Write "12.3 GiB" to TEXT, which has ROOM bytes. */
static void
format_bytes (char *text, size_t room, double bytes)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
  size_t i = 0;

  while (bytes >= 1024 && i < sizeof units / sizeof units[0] - 1) {
    bytes /= 1024;
    i++;
  }
  snprintf (text, room, "%.*f %s", i == 0 ? 0 : 1, bytes, units[i]);
}

/* Write the rate since the start to TEXT, and the time that the remaining bytes
 * will take at this rate, unless it cannot be estimated: "1.2 GiB/s, 0:01:05
 * left".
 */
static void
format_rate (char *text, size_t room)
{
  double seconds = clock_seconds () - now.start, left;
  char rate[32];
  uint32_t s;

  format_bytes (rate, sizeof rate, seconds > 0 ? now.done / seconds : 0);
  left = has_percent () && now.done > 0 && now.done <= now.size
    ? seconds / now.done * (now.size - now.done) : MAX_LEFT;
  if (left >= MAX_LEFT) {
    snprintf (text, room, "%s/s", rate);
    return;
  }
  s = left + 0.5;
  snprintf (text, room, "%s/s, %" PRIu32 ":%02" PRIu32 ":%02" PRIu32 " left",
            rate, s / 3600, s / 60 % 60, s % 60);
}

/* ---- The bar ---- */

/* Returns the number of usable columns. */
static int
columns (void)
{
  struct winsize size;

  if (ioctl (target.fd, TIOCGWINSZ, &size) == -1 || size.ws_col == 0)
    return DEFAULT_WIDTH - 1;
  return size.ws_col - 1;
}

/* The character at TEXT: its length in bytes, its width in columns, and whether
 * it can be printed.  All characters of three bytes and more count as two
 * columns wide, because many are; at worst the bar is shorter.
 */
struct character {
  int bytes, columns;
  bool printable;
};

static struct character
character_at (const char *text)
{
  const unsigned char *s = (const unsigned char *) text;
  size_t n = utf8_length (text);

  if (n == 0 || s[0] < ' ' || s[0] == 127)
    return (struct character) { 1, 1, false };
  if (s[0] == 0xc2 && s[1] < 0xa0) /* control characters, too */
    return (struct character) { 2, 1, false };
  return (struct character) { n, n > 2 ? 2 : 1, true };
}

/* Print the name and a space in at most MAX columns, or nothing if these are
 * too few.  A longer name is cut at its start, because the end of a path is
 * more useful.  Returns the number of columns that were used.
 */
static int
print_name (FILE *out, int max)
{
  const char *name = now.name ? now.name : "";
  struct character c;
  int width = 0, printed = 0;

  for (const char *p = name; *p; p += c.bytes) {
    c = character_at (p);
    width += c.columns;
  }
  max--;                        /* for the space */
  if (width == 0 || max <= (int) strlen (CUT))
    return 0;
  if (width > max) {
    fputs (CUT, out);
    printed = strlen (CUT);
  }
  for (; *name; name += c.bytes) {
    c = character_at (name);
    if (printed + width > max)
      width -= c.columns;
    else if (c.printable)
      fwrite (name, 1, c.bytes, out);
    else
      putc ('?', out);
  }
  putc (' ', out);
  return printed + width + 1;
}

static void
print_bar (FILE *out, int width)
{
  int full = (int64_t) width * now.percent / 100;

  putc ('[', out);
  for (int i = 0; i < width; i++)
    putc (i < full ? '#' : ' ', out);
  fputs ("] ", out);
}

/* The rate is shown if it fits.  The name gets at most half of the rest. */
static void
print_percent_bar (FILE *out)
{
  int left = columns () - PERCENT_WIDTH, rate_width = 0;
  char rate[80];

  if (clock_seconds () - now.start >= MIN_RATE_TIME) {
    format_rate (rate, sizeof rate);
    rate_width = MAX ((int) strlen (rate), RATE_WIDTH);
    if (left - 1 - rate_width < MIN_NAME_AND_BAR)
      rate_width = 0;
    else
      left -= 1 + rate_width;
  }
  left -= print_name (out, left / 2);
  if (left > MIN_BAR)
    print_bar (out, left - 3);
  if (left >= 0)
    fprintf (out, "%3d%%", now.percent);
  if (rate_width > 0)
    fprintf (out, " %-*s", rate_width, rate);
}

/* For progress whose end is unknown. */
static void
print_bytes (FILE *out)
{
  char bytes[32], rate[80];
  int left = columns ();

  format_bytes (bytes, sizeof bytes, now.done);
  format_rate (rate, sizeof rate);
  left -= strlen (bytes) + strlen (", ") + strlen (rate);
  print_name (out, left);
  if (left >= 0)
    fprintf (out, "%s, %s", bytes, rate);
}

static void
draw (void)
{
  char *text = NULL;
  size_t size = 0;
  FILE *out;

  if (!now.bar || !(out = open_memstream (&text, &size)))
    return;
  now.drawn = clock_seconds ();
  putc ('\r', out);
  if (has_percent ())
    print_percent_bar (out);
  else
    print_bytes (out);
  fputs ("\033[K", out);
  if (memstream_close (out, &text))
    show (text, size);
  free (text);
}

static void
erase (void)
{
  if (now.bar)
    show ("\r\033[K", 4);
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

/* ---- What a job reports ---- */

static void
print_percent (void)
{
  char text[32];

  show (text, snprintf (text, sizeof text, "%d/100\n", now.percent));
}

static void
begin (const struct progress *progress, uint64_t size)
{
  bool shown = target.fd != -1;

  memset (&now, 0, sizeof now);
  now.bar = shown && target.bar && size > 0;
  now.lines = shown && !target.bar && !progress->aside;
  now.name = progress->name;
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
end (bool complete)
{
  if (now.lines && complete) {
    now.percent = 100;
    print_percent ();
  }
  erase ();
  now.bar = begun = false;
}

void
progress_update (const struct progress *progress, enum progress_step step,
                 uint64_t bytes)
{
  SCOPED_LOCK (&lock);

  if (step == PROGRESS_BEGIN)
    begin (progress, bytes);
  else if (step == PROGRESS_ADD)
    add (bytes);
  else
    end (step == PROGRESS_DONE);
}

/* ---- SIGUSR1 ---- */

/* "12.3 GiB of 100.0 GiB (12%) done, 1.2 GiB/s, 0:01:13 left" */
static void
describe (struct error *text)
{
  char done[32], size[32], rate[80];

  format_bytes (done, sizeof done, now.done);
  format_rate (rate, sizeof rate);
  if (!has_percent ()) {
    error_set (text, "%s done, %s", done, rate);
    return;
  }
  format_bytes (size, sizeof size, now.size);
  error_set (text, "%s of %s (%d%%) done, %s", done, size,
             (int) (100.0 * now.done / now.size), rate);
}

static void
print_status (void)
{
  struct error text = { "" };
  SCOPED_LOCK (&lock);

  if (!begun) {
    fprintf (stderr, "%s: nothing is being read\n", program_name);
    return;
  }
  erase ();
  describe (&text);
  if (now.name)
    report (now.name, &text);
  else
    fprintf (stderr, "%s: %s\n", program_name, text.text);
  draw ();
}

static pthread_t thread;
static sigset_t signals;        /* SIGUSR1 */
static atomic_bool stopping;

static void *
run_thread (void *unused)
{
  sigset_t all;
  int signal;

  (void) unused;
  /* Signals that end the program are handled by the main thread, which blocks
   * them while it replaces a file.
   */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, NULL);
  while (sigwait (&signals, &signal) == 0 && !stopping)
    print_status ();
  return NULL;
}

static void
stop (void)
{
  stopping = true;
  pthread_kill (thread, SIGUSR1);
  pthread_join (thread, NULL);
}

/* If the thread cannot be started, the signal has no effect. */
void
progress_start (const struct progress_target *where)
{
  target = *where;
  sigemptyset (&signals);
  sigaddset (&signals, SIGUSR1);
  pthread_sigmask (SIG_BLOCK, &signals, NULL);
  if (pthread_create (&thread, NULL, run_thread, NULL) == 0)
    atexit (stop);
}
