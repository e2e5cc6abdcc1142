/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Observe a request that reads: add its content to the leaf table of the export
 * (see blkhash-leaves.h).
 *
 * The content is hashed between observe_begin and observe_end, without the
 * lock.  If a request that modifies the disk accesses the same bytes at the
 * same time, these bytes are tainted: their content is unknown (see
 * inflight.h).  Each of the two requests invalidates the tainted part when it
 * ends, so the order in which they end does not matter.
 *
 * A read by a stale connection proves nothing, because it may return old
 * content: another connection changed the disk, and the plugin does not
 * advertise multi-conn.  Even with multi-conn, a connection might not see a
 * change by another connection before the other one is flushed.  visibility.c
 * determines the blocks whose content a read proves.
 */

#include <config.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "blkhash.h"

#include "../lib/common/cleanup.h"
#include "../lib/leaves/leaves.h"
#include "conn.h"
#include "export.h"
#include "observe.h"
#include "params.h"

static void
set_unproven_locked (struct conn *conn, struct request *request)
{
  uint64_t offset, run_end;

  for (offset = request->offset; offset < request->end; offset = run_end)
    if (visibility_hidden (&conn->disk->visibility, &conn->unflushed,
                           offset, request->end, &run_end))
      inflight_add_unproven (request, offset, run_end);
}

/* Returns the result of conn_join_locked. */
static bool
observe_begin_locked (struct conn *conn, struct request *request,
                      uint64_t offset, uint64_t len)
{
  bool joined = conn_join_locked (conn);

  *request = (struct request) { .tracked = false };
  if (conn->disk) {
    inflight_begin (&conn->disk->inflight, request, false, offset, len);
    request->by = &conn->unflushed;
  }
  if (conn->export)
    export_catch_up_locked (conn->export);
  request->ignored = conn_is_ignored_locked (conn);
  if (!request->ignored)
    set_unproven_locked (conn, request);
  return joined;
}

void
observe_begin (struct conn *conn, struct request *request,
               uint64_t offset, uint64_t len)
{
  bool joined;

  {
    SCOPED_LOCK (&exports_lock);

    joined = observe_begin_locked (conn, request, offset, len);
  }
  if (joined)
    conn_join_end (conn);
}

/* Add a range, including its tainted part, which observe_end invalidates.
 * Errors are sticky in the leaf table, and returned when it is folded.
 */
static void
observe_range (struct conn *conn, const struct request *request,
               const unsigned char *buf, uint64_t offset, uint64_t end)
{
  if (offset < end)
    leaves_observe_data (conn->export->leaves, buf + (offset - request->offset),
                         end - offset, offset);
}

void
observe_data (struct conn *conn, const struct request *request, const void *buf)
{
  if (request->ignored)
    return;
  observe_range (conn, request, buf, request->offset, request->unproven);
  observe_range (conn, request, buf, request->unproven_end, request->end);
}

/* Add a range that is zero by an extents reply, except the blocks that clients
 * have written or trimmed since the server started: for them the reply proves
 * nothing.  A caching filter below, such as nbdkit's cache filter, passes on
 * the extents of the plugin.  These do not reflect cached writes, and the
 * cached data does not reflect trims.
 */
static void
observe_zero (struct conn *conn, uint64_t offset, uint64_t end)
{
  uint32_t block_size = blkhash_opts_get_block_size (params.hash);
  uint64_t run_end;
  bool unproven;

  for (; offset < end; offset = run_end) {
    {
      SCOPED_LOCK (&exports_lock);

      unproven = block_set_contains (&conn->disk->unproven_extents, block_size,
                                     offset, end, &run_end);
    }
    if (!unproven)
      leaves_observe_zero (conn->export->leaves, run_end - offset, offset);
  }
}

void
observe_extents (struct conn *conn, const struct request *request,
                 const struct nbdkit_extents *extents, bool first_only)
{
  size_t i, count = nbdkit_extents_count (extents);

  if (first_only && count > 1)
    count = 1;
  for (i = 0; i < count && !request->ignored; i++) {
    struct nbdkit_extent e = nbdkit_get_extent (extents, i);
    uint64_t offset = e.offset, end = e.offset + e.length;

    if (offset < request->offset)
      offset = request->offset;
    if (end > request->end)
      end = request->end;
    if (e.type & NBDKIT_EXTENT_ZERO) {
      observe_zero (conn, offset,
                    end < request->unproven ? end : request->unproven);
      observe_zero (conn, offset > request->unproven_end ? offset
                                                     : request->unproven_end,
                    end);
    }
  }
}

/* Handle the blocks for which this request, or another one in flight, returned
 * other content than the table has: the disk was changed without this filter,
 * or the plugin does not return the same data twice.  Invalidate these blocks
 * for the other exports too, and withdraw all sums of the disk.  A
 * contradiction in an export with SILENT set is ignored, because reads by its
 * clients prove nothing: see conn_lacks_tls_locked.  Returns true if a sum was
 * withdrawn.
 */
static bool
withdraw_contradicted_locked (struct export *export)
{
  uint64_t offset, len;
  bool any = false;

  while (leaves_next_contradiction (export->leaves, &offset, &len)) {
    if (export->silent)
      continue;
    any = true;
    export_check_baseline_locked (export, offset, len);
    disk_change (export->disk, export, offset, offset + len);
  }
  return any &&
    exports_withdraw_locked (export->disk, export,
                             "a client of another export reads different data");
}

static bool
observe_end_locked (struct conn *conn, struct request *request,
                    uint64_t bytes_read)
{
  bool withdrawn = false;

  if (!request->ignored) {
    blkhash_leaves_forget (conn->export->leaves,
                           request->taint_end - request->taint,
                           request->taint);
    withdrawn = withdraw_contradicted_locked (conn->export);
  }
  if (conn->export)
    conn->export->bytes_read += bytes_read;
  if (request->tracked)
    inflight_end (&conn->disk->inflight, request);
  return withdrawn;
}

void
observe_end (struct conn *conn, struct request *request, uint64_t bytes_read)
{
  bool withdrawn;

  {
    SCOPED_LOCK (&exports_lock);

    withdrawn = observe_end_locked (conn, request, bytes_read);
  }
  if (withdrawn)
    report_await_withdrawals ();
}
