/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk, and the log of its changes.
 *
 * The cost of a change does not depend on the number of exports: the change is
 * appended to a log, and each export reads the new entries of the log before it
 * observes a request or publishes a sum.  If entries were overwritten before
 * an export read them, the export invalidates everything.
 */

#include <config.h>

#include <stdlib.h>

#include "blkhash/disk.h"

#define LOG_SIZE 256            /* changes */

struct disk_change {
  const void *by;               /* the export of the change, or NULL */
  uint64_t offset, end;         /* bytes; END is exclusive */
};

void
disk_change_begin (struct disk *disk, struct request *request,
                   uint64_t offset, uint64_t len)
{
  disk->changes++;
  disk->changing++;
  inflight_begin (&disk->inflight, request, true, offset, len);
}

/* Merge sequential writes through one export: extend the last entry. */
static bool
extend_last (struct disk *disk, const void *by, uint64_t offset, uint64_t end)
{
  struct disk_change *last;

  if (!disk->may_extend)
    return false;
  last = &disk->log[(disk->logged - 1) % LOG_SIZE];
  if (last->by != by || offset > last->end || end < last->offset)
    return false;
  if (offset < last->offset)
    last->offset = offset;
  if (end > last->end)
    last->end = end;
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
  disk->log[disk->logged++ % LOG_SIZE] = (struct disk_change) {
    by, offset, end
  };
  disk->may_extend = true;
}

void
disk_change (struct disk *disk, const void *by, uint64_t offset, uint64_t end)
{
  if (disk->exports > (by != NULL))
    put_in_log (disk, by, offset, end);
}

void
disk_change_end (struct disk *disk, struct request *request,
                 const void *by)
{
  disk->changes++;
  disk->last_change = disk->changes;
  disk->changing--;
  inflight_end (&disk->inflight, request);
  disk_change (disk, by, request->offset, request->end);
}

void
disk_flush_ended (struct disk *disk, struct unflushed *by, bool ok)
{
  struct request *request;
  uint64_t offset, run_end;

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
  return !disk->flush_failed && disk->changing == 0 &&
    disk->flushed >= disk->last_change;
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
      const struct disk_change *change = &disk->log[*seen % LOG_SIZE];

      if (change->by == by)
        continue;
      fn (opaque, change->offset, change->end);
      disk->may_extend = false;
    }
  *seen = disk->logged;
}

void
disk_destroy (struct disk *disk)
{
  block_set_clear (&disk->changed);
  claims_destroy (&disk->claims);
  visibility_destroy (&disk->visibility);
  free (disk->log);
}
