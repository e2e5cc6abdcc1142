/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source that can only be read sequentially: a pipe, a socket, a terminal.
 */

#ifndef BLKSUM_PIPE_H
#define BLKSUM_PIPE_H

struct error;
struct source;
struct source_options;

/* Open FD, which is read up to its end, or up to source->size if the caller
 * sets that afterwards.  If this succeeds, *SOURCE owns FD, and closes it,
 * unless it is standard input.  Returns 0 or -1.
 */
int pipe_open (const struct source_options *options, int fd,
               struct source **source, struct error *error);

#endif /* BLKSUM_PIPE_H */
