/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Format the progress of a job: bytes, rate, remaining time and reads.
 */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/progress-text.h"

#define DAY 86400               /* seconds */
#define MAX_DAYS 999            /* a remaining time this long is not printed */

void
progress_text_bytes (char *text, size_t room, double bytes)
{
  static const char *const prefixes[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi" };
  size_t i = 0;

  while (bytes >= 1024 && i < sizeof prefixes / sizeof prefixes[0] - 1) {
    bytes /= 1024;
    i++;
  }
  snprintf (text, room, "%.*f %sB", i == 0 ? 0 : 1, bytes, prefixes[i]);
}

void
progress_text_rate (char *text, size_t room, uint64_t done, double seconds)
{
  size_t len;

  progress_text_bytes (text, room, seconds > 0 ? done / seconds : 0);
  len = strlen (text);
  snprintf (text + len, room - len, "/s");
}

/* Append ", 1:05 left", ", 2:00:05 left" or ", 3 days left" to TEXT. */
static void
append_time (char *text, size_t room, double seconds)
{
  size_t len = strlen (text);
  uint32_t s = seconds + 0.5;

  text += len;
  room -= len;
  if (s >= 2 * DAY)
    snprintf (text, room, ", %" PRIu32 " days left", s / DAY);
  else if (s >= 3600)
    snprintf (text, room, ", %" PRIu32 ":%02" PRIu32 ":%02" PRIu32 " left",
              s / 3600, s / 60 % 60, s % 60);
  else
    snprintf (text, room, ", %" PRIu32 ":%02" PRIu32 " left", s / 60, s % 60);
}

void
progress_text_left (char *text, size_t room, uint64_t done, uint64_t size,
                    double seconds)
{
  double left;

  progress_text_rate (text, room, done, seconds);
  if (done == 0 || done > size)
    return;
  left = seconds / done * (size - done);
  if (left < (double) MAX_DAYS * DAY)
    append_time (text, room, left);
}

void
progress_text_reads (char *text, size_t room, unsigned in_flight,
                     double latency)
{
  snprintf (text, room, "reading: %u in flight, %.0f ms", in_flight, latency);
}
