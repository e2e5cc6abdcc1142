/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk: requests in flight, and the log of changes.  See disk.h.
 */

#include <config.h>

#include <stdlib.h>

#include "../lib/common/util.h"
#include "blkhash/disk.h"
#include "blkhash/exports-lock.h"

/* ---- Requests in flight ----
 *
 * nbdkit has at most 16 requests of a connection in flight by default, so lists
 * are fast enough.  Most requests in flight are reads, so reads are in a list
 * of their own, which a new read need not search.
 */

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
  request->taint = MIN (request->taint, offset);
  request->taint_end = MAX (request->taint_end, end);
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
    uint64_t from = MAX (request->offset, other->offset);
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

/* ---- The log ---- */

#define LOG_SIZE 256            /* changes */

struct logged_change {
  const void *by;               /* the export of the change, or NULL */
  uint64_t offset, end;         /* bytes; END is exclusive */
};

/* Merge sequential writes through one export: extend the last entry. */
static bool
extend_last (struct disk *disk, const void *by, uint64_t offset, uint64_t end)
{
  struct logged_change *last;

  if (!disk->may_extend)
    return false;
  last = &disk->log[(disk->logged - 1) % LOG_SIZE];
  if (last->by != by || offset > last->end || end < last->offset)
    return false;
  last->offset = MIN (last->offset, offset);
  last->end = MAX (last->end, end);
  return true;
}

static void
put_in_log (struct disk *disk, const void *by, uint64_t offset, uint64_t end)
{
  if (!disk->log)
    disk->log = calloc (LOG_SIZE, sizeof *disk->log);
  if (!disk->log) {
    disk->logged += LOG_SIZE + 1; /* as if entries were overwritten */
    return;
  }
  if (extend_last (disk, by, offset, end))
    return;
  disk->log[disk->logged++ % LOG_SIZE] = (struct logged_change) {
    by, offset, end
  };
  disk->may_extend = true;
}

void
disk_log_change (struct disk *disk, const void *by, uint64_t offset,
                 uint64_t end)
{
  if (disk->exports > (by != NULL))
    put_in_log (disk, by, offset, end);
}

void
disk_log_position (struct disk *disk, uint64_t *seen)
{
  *seen = disk->logged;
  disk->may_extend = false;
}

void
disk_catch_up (struct disk *disk, const void *by, uint64_t *seen,
               void (*fn) (void *opaque, uint64_t offset, uint64_t end),
               void *opaque)
{
  if (disk->logged == *seen)
    return;
  if (disk->logged - *seen > LOG_SIZE) {
    fn (opaque, 0, UINT64_MAX);
    disk->may_extend = false;
  }
  else
    for (; *seen < disk->logged; ++*seen) {
      const struct logged_change *change = &disk->log[*seen % LOG_SIZE];

      if (change->by == by)
        continue;
      fn (opaque, change->offset, change->end);
      disk->may_extend = false;
    }
  *seen = disk->logged;
}

/* ---- Changes and flushes ---- */

void
disk_change_begin (struct disk *disk, struct request *request,
                   uint64_t offset, uint64_t len)
{
  disk->changes++;
  disk->changing++;
  inflight_begin (&disk->inflight, request, true, offset, len);
}

void
disk_change_end (struct disk *disk, struct request *request,
                 const void *by)
{
  disk->changes++;
  disk->last_change = disk->changes;
  disk->changing--;
  inflight_end (&disk->inflight, request);
  disk_log_change (disk, by, request->offset, request->end);
}

void
disk_flush_ended (struct disk *disk, struct unflushed *by, bool ok)
{
  struct request *request;
  uint64_t offset, run_end;

  exports_assert_locked ();
  if (!ok)
    inflight_taint_by (&disk->inflight, by);
  for (request = disk->inflight.changes; request; request = request->next)
    for (offset = request->offset; offset < request->end; offset = run_end)
      if (visibility_flushing (by, offset, request->end, &run_end) &&
          request->by != by)
        inflight_add_unproven (request, offset, run_end);
}

bool
disk_is_durable (const struct disk *disk)
{
  exports_assert_locked ();
  return !disk->flush_failed && disk->changing == 0 &&
    disk->flushed >= disk->last_change;
}

void
disk_destroy (struct disk *disk)
{
  block_set_clear (&disk->changed);
  claims_destroy (&disk->claims);
  visibility_destroy (&disk->visibility);
  free (disk->log);
}
