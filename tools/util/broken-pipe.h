/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SIGPIPE is ignored, because of sockets; of a broken pipe behind stdout
 * blksum dies as any other program does.
 */

#ifndef BLKSUM_BROKEN_PIPE_H
#define BLKSUM_BROKEN_PIPE_H

#include <signal.h>

/* Returns only if a parent has blocked SIGPIPE. */
static inline void
die_of_broken_pipe (void)
{
  signal (SIGPIPE, SIG_DFL);
  raise (SIGPIPE);
}

#endif /* BLKSUM_BROKEN_PIPE_H */
