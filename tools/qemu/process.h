/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Run another program and take what it prints.
 */

#ifndef BLKSUM_PROCESS_H
#define BLKSUM_PROCESS_H

#include <sys/types.h>

#include "util/error.h"

/* To be called in a child between fork and exec: the child dies when PARENT,
 * which forked it, does; no signal is blocked or ignored; and no file
 * descriptor above 2 gets through exec.  Async-signal-safe.
 */
void process_prepare_child (pid_t parent);

/* Run ARGV, found in PATH, without a shell and with no input, and store what
 * it prints on stdout, a string, in *OUTPUT.  0, or -1 with the reason in ERROR
 * and in *MESSAGES what the program said on stderr, NULL if that is not why.
 * The caller frees both strings.
 *
 * File descriptors 0, 1 and 2 of this process must be open.
 */
int process_run (char *const argv[], char **output, char **messages,
                 struct error *error);

#endif /* BLKSUM_PROCESS_H */
