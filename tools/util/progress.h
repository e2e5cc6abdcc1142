/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The progress of a job.  The job calls these functions; its request determines
 * how the progress is shown.
 */

#ifndef BLKSUM_UTIL_PROGRESS_H
#define BLKSUM_UTIL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_NO_SIZE UINT64_MAX /* the size is not known yet */

struct progress_form;

/* Functions that show the progress.  Any thread can call those that are
 * thread-safe; only the thread of the job calls the others.
 */
struct progress {
  void (*begin) (const struct progress_form *form, uint64_t size);
  void (*add) (uint64_t len);   /* thread-safe */
  void (*reading) (uint64_t latency, unsigned in_flight); /* thread-safe; or
                                 * NULL */
  void (*end) (bool complete);
};

/* How to show progress; a part of the request of a job. */
struct progress_form {
  const struct progress *to;    /* NULL: not shown */
  const char *name;             /* name shown in front of the bar, or NULL */
  bool aside;                   /* progress of something other than the
                                 * image: not reported to programs, which
                                 * expect only one progress up to 100/100 */
};

/* Begin the progress of SIZE bytes, which can be PROGRESS_NO_SIZE.  End it
 * before the next one begins.  Returns PROGRESS for the functions below, or
 * NULL if the progress is not shown.
 */
static inline const struct progress *
progress_begin (const struct progress_form *form, uint64_t size)
{
  if (form->to)
    form->to->begin (form, size);
  return form->to;
}

/* Same as progress_begin, but with ASIDE of the form set. */
static inline const struct progress *
progress_begin_aside (const struct progress_form *form, uint64_t size)
{
  struct progress_form aside = *form;

  aside.aside = true;
  return progress_begin (&aside, size);
}

/* Report that LEN more bytes were hashed, or need not be hashed.  Thread-safe.
 * Does nothing if PROGRESS is NULL.
 */
static inline void
progress_add (const struct progress *progress, uint64_t len)
{
  if (progress)
    progress->add (len);
}

/* Report that a read took LATENCY nanoseconds, and ended when IN_FLIGHT reads,
 * including this one, were in flight.  Thread-safe.  Does nothing if PROGRESS
 * is NULL.
 */
static inline void
progress_reading (const struct progress *progress, uint64_t latency,
                  unsigned in_flight)
{
  if (progress && progress->reading)
    progress->reading (latency, in_flight);
}

/* End the progress.  COMPLETE is set if everything was hashed.  Does nothing if
 * PROGRESS is NULL.
 */
static inline void
progress_end (const struct progress *progress, bool complete)
{
  if (progress)
    progress->end (complete);
}

#endif /* BLKSUM_UTIL_PROGRESS_H */
