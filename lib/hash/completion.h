/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Asynchronous requests, and the queue of completed ones.  A request has parts,
 * and completes with the last of them.
 *
 * One thread starts and reaps requests, any thread completes parts.
 */

#ifndef BLKHASH_COMPLETION_H
#define BLKHASH_COMPLETION_H

#include <stddef.h>

struct blkhash_completion;
struct completions;
struct request;

/* Up to DEPTH requests, at least 1.  Returns NULL with errno set on failure. */
struct completions *completions_create (unsigned depth);
void completions_free (struct completions *c);

/* Start a request that is complete when PARTS parts, at least one, are.
 * Returns NULL if DEPTH requests are in flight.
 */
struct request *completions_start (struct completions *c, void *user_data,
                                   size_t parts);

/* A part of REQUEST is done; the first error of its parts is reported. */
void request_part_done (void *request, int error);

/* Readable when something can be reaped. */
int completions_fd (const struct completions *c);

/* Store up to COUNT completed requests, return how many. */
unsigned completions_reap (struct completions *c,
                           struct blkhash_completion *out, unsigned count);

#endif /* BLKHASH_COMPLETION_H */
