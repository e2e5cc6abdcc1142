/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The progress of a job, which a callback in its request shows.
 */

#ifndef BLKSUM_PROGRESS_H
#define BLKSUM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_NO_SIZE UINT64_MAX /* the size is not known yet */

enum progress_step {
  PROGRESS_BEGIN,               /* BYTES is the size, or PROGRESS_NO_SIZE */
  PROGRESS_ADD,                 /* BYTES more are done */
  PROGRESS_DONE,                /* the end: everything is done */
  PROGRESS_FAILED,              /* the end, for another reason */
};

/* How to show progress; a part of the request of a job. */
struct progress {
  /* Called by any thread for PROGRESS_ADD, otherwise by that of the job. */
  void (*update) (const struct progress *progress, enum progress_step step,
                  uint64_t bytes);
  const char *name;             /* name shown in front of the bar, or NULL */
  bool aside;                   /* progress of something other than the
                                 * image: not reported to programs, which
                                 * expect only one progress up to 100/100 */
};

/* Begin the progress of SIZE bytes, which can be PROGRESS_NO_SIZE.  End it
 * before the next one begins.  Returns PROGRESS.
 */
static inline const struct progress *
progress_begin (const struct progress *progress, uint64_t size)
{
  progress->update (progress, PROGRESS_BEGIN, size);
  return progress;
}

/* Report that LEN more bytes were hashed, or need not be hashed.  Thread-safe.
 * Does nothing if PROGRESS is NULL.
 */
static inline void
progress_add (const struct progress *progress, uint64_t len)
{
  if (progress)
    progress->update (progress, PROGRESS_ADD, len);
}

/* End the progress.  COMPLETE is set if everything was hashed. */
static inline void
progress_end (const struct progress *progress, bool complete)
{
  progress->update (progress, complete ? PROGRESS_DONE : PROGRESS_FAILED, 0);
}

#endif /* BLKSUM_PROGRESS_H */
