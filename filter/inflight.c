/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests in flight, and which of them cannot be believed.
 *
 * nbdkit has at most 16 requests of a connection in flight, so a list does.
 */

#include <config.h>

#include "inflight.h"

/* Grow the tainted part to hold the overlap; it is one range, not a set. */
static void
taint (struct request *request, uint64_t offset, uint64_t end)
{
  if (request->taint == request->taint_end) {
    request->taint = offset;
    request->taint_end = end;
    __atomic_store_n (&request->tainted, true, __ATOMIC_RELAXED);
    return;
  }
  if (offset < request->taint)
    request->taint = offset;
  if (end > request->taint_end)
    request->taint_end = end;
}

void
inflight_begin (struct inflight *inflight, struct request *request,
                bool change, uint64_t offset, uint64_t len)
{
  struct request *other;

  *request = (struct request) {
    .change = change,
    .offset = offset,
    .end = offset + len,
    .next = inflight->first,
  };
  for (other = inflight->first; other; other = other->next) {
    uint64_t from = offset > other->offset ? offset : other->offset;
    uint64_t to = request->end < other->end ? request->end : other->end;

    if (from < to && (change || other->change)) {
      taint (request, from, to);
      taint (other, from, to);
    }
  }
  if (inflight->first)
    inflight->first->prev = request;
  inflight->first = request;
}

bool
inflight_is_tainted (const struct request *request)
{
  return __atomic_load_n (&request->tainted, __ATOMIC_RELAXED);
}

void
inflight_end (struct inflight *inflight, struct request *request)
{
  if (request->prev)
    request->prev->next = request->next;
  else
    inflight->first = request->next;
  if (request->next)
    request->next->prev = request->prev;
}
