/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum ignores SIGPIPE, because a closed socket must not end it.  If a write
 * to stdout fails because the pipe has no reader, die_of_broken_pipe ends the
 * program by SIGPIPE, as if the signal had not been ignored.
 */

#ifndef BLKSUM_BROKEN_PIPE_H
#define BLKSUM_BROKEN_PIPE_H

#include <signal.h>

/* Returns only if SIGPIPE was blocked by a parent process. */
static inline void
die_of_broken_pipe (void)
{
  signal (SIGPIPE, SIG_DFL);
  raise (SIGPIPE);
}

#endif /* BLKSUM_BROKEN_PIPE_H */
