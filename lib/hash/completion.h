/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Asynchronous requests, and the queue of completed requests.  A request has
 * parts, and completes when all of its parts have completed.
 *
 * One thread starts and reaps requests; any thread can complete a part.  A
 * request is in flight from its start until it is reaped.
 */

#ifndef BLKHASH_COMPLETION_H
#define BLKHASH_COMPLETION_H

#include <stddef.h>

struct blkhash_completion;
struct completions;
struct request;

/* DEPTH, at least 1, is the maximum number of requests in flight.  Returns NULL
 * with errno set on failure.  completions_free must be called after all threads
 * that complete parts have ended.
 */
struct completions *completions_create (unsigned depth);
void completions_free (struct completions *c);

/* Start a request of PARTS parts, at least one.  Returns NULL if DEPTH requests
 * are in flight.
 */
struct request *completions_start (struct completions *c, void *user_data,
                                   size_t parts);

/* Complete a part of REQUEST, with 0 or an errno value.  The first error of its
 * parts is the error of the request.
 */
void request_part_done (void *request, int error);

/* Returns a file descriptor that is readable when requests can be reaped. */
int completions_fd (const struct completions *c);

/* Store up to COUNT completed requests in OUT.  Returns their number. */
unsigned completions_reap (struct completions *c,
                           struct blkhash_completion *out, unsigned count);

#endif /* BLKHASH_COMPLETION_H */
