/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests in flight, and their tainted parts.
 *
 * nbdkit has at most 16 requests of a connection in flight by default, so lists
 * are fast enough.  Most requests in flight are reads, so reads are in a list
 * of their own, which a new read need not search.
 */

#include <config.h>

#include "../lib/common/util.h"
#include "inflight.h"

/* Extend the tainted part of REQUEST to include this range.  The tainted part
 * is one range, so bytes between two overlaps count as tainted, too.
 */
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

static struct request **
list_of (struct inflight *inflight, const struct request *request)
{
  return request->change ? &inflight->changes : &inflight->reads;
}

/* Taint REQUEST and the requests in the list OTHER where they overlap.  In each
 * pair at least one request is a change.
 */
static void
taint_overlaps (struct request *request, struct request *other)
{
  for (; other; other = other->next) {
    uint64_t from = request->offset > other->offset ? request->offset
                                                    : other->offset;
    uint64_t to = MIN (request->end, other->end);

    if (from < to) {
      taint (request, from, to);
      taint (other, from, to);
    }
  }
}

void
inflight_begin (struct inflight *inflight, struct request *request,
                bool change, uint64_t offset, uint64_t len)
{
  struct request **list;

  *request = (struct request) {
    .change = change, .tracked = true, .offset = offset, .end = offset + len,
    .unproven = offset + len, .unproven_end = offset + len
  };
  taint_overlaps (request, inflight->changes);
  if (change)
    taint_overlaps (request, inflight->reads);

  list = list_of (inflight, request);
  request->next = *list;
  if (*list)
    (*list)->prev = request;
  *list = request;
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
    *list_of (inflight, request) = request->next;
  if (request->next)
    request->next->prev = request->prev;
}

static void
taint_list (struct request *request, const void *by)
{
  for (; request; request = request->next)
    if (request->by == by)
      taint (request, request->offset, request->end);
}

void
inflight_taint_by (struct inflight *inflight, const void *by)
{
  taint_list (inflight->changes, by);
  taint_list (inflight->reads, by);
}

void
inflight_taint_reads (struct inflight *inflight, uint64_t offset, uint64_t end)
{
  struct request *request;

  for (request = inflight->reads; request; request = request->next) {
    uint64_t from = MAX (offset, request->offset), to = MIN (end, request->end);

    if (from < to)
      taint (request, from, to);
  }
}

void
inflight_add_unproven (struct request *request, uint64_t offset, uint64_t end)
{
  if (request->unproven == request->unproven_end) {
    request->unproven = offset;
    request->unproven_end = end;
  }
  request->unproven = MIN (request->unproven, offset);
  request->unproven_end = MAX (request->unproven_end, end);
}
