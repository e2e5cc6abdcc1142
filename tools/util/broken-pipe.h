/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum ignores SIGPIPE because of its sockets.  If it finds that stdout is a
 * broken pipe, it calls this function, which ends it by that signal.
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
