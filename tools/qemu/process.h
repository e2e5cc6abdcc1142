/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Run another program and read its output.
 */

#ifndef BLKSUM_PROCESS_H
#define BLKSUM_PROCESS_H

#include <sys/types.h>

#include "util/error.h"

/* Called by a child of the process PARENT between fork and exec.  On Linux the
 * child is then killed when the thread that forked it ends.  SIGPIPE gets its
 * default action, and all signals except SIGUSR1 are unblocked: until exec the
 * child has the name of this program, and a SIGUSR1 that is sent by name, to
 * request the progress, would kill it.  exec closes all descriptors above 2.
 * Async-signal-safe.
 */
void process_prepare_child (pid_t parent);

/* Returns the paths at which PROGRAM can be, by PATH: strings, each with its
 * terminating zero, and an empty one at the end.  Returns NULL with errno set
 * on error.  The caller frees them.
 */
char *process_paths (const char *program);

/* Run the first program of PATHS that exists and is executable.  Returns only
 * on error, with errno set.  Async-signal-safe, unlike execvp.
 */
void process_exec (const char *paths, char *const argv[], char *const env[]);

/* Run ARGV, found in PATH, without a shell and without input, and store its
 * stdout, a string, in *OUTPUT.  Returns 0; or -1 with the reason in ERROR, and
 * *OUTPUT unchanged.  If the program ran but failed, *MESSAGES is its stderr,
 * or NULL if it printed nothing there; otherwise *MESSAGES is NULL.  The caller
 * frees both strings.
 *
 * File descriptors 0, 1 and 2 of this process must be open.
 */
int process_run (char *const argv[], char **output, char **messages,
                 struct error *error);

#endif /* BLKSUM_PROCESS_H */
