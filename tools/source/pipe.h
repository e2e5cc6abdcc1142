/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What can only be read from its start to its end: a pipe, a socket, a
 * terminal.
 */

#ifndef BLKSUM_PIPE_H
#define BLKSUM_PIPE_H

struct error;
struct source;
struct source_options;

/* What FD gives until its end, or as much of it as source->size is set to.  It
 * becomes the source's if this succeeds, but standard input stays open.  0 or
 * -1.
 */
int pipe_open (const struct source_options *options, int fd,
               struct source **source, struct error *error);

#endif /* BLKSUM_PIPE_H */
