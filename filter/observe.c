/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is learnt from a request that looks at the disk.
 *
 * Hashing is done between begin and end of a request, without the lock.  A
 * request that is tainted while it is hashed makes that part unknown when it
 * ends, and so does the other one: it does not matter which ends first.
 *
 * A connection without multi-conn that may not see what another one changed
 * teaches nothing.  With multi-conn, too, another connection may not see a
 * change before it was flushed: visibility.c says of each block whether what is
 * read there proves anything.
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

/* One range, not a set, holds all of REQUEST that is hidden. */
static void
hide_locked (struct conn *conn, struct request *request)
{
  uint64_t offset, run_end;

  for (offset = request->offset; offset < request->end; offset = run_end)
    if (visibility_hidden (&conn->disk->visibility, &conn->unflushed,
                           offset, request->end, &run_end)) {
      if (request->hidden == request->end)
        request->hidden = offset;
      request->hidden_end = run_end;
    }
}

/* As conn_join_locked. */
static bool
observe_begin_locked (struct conn *conn, struct request *request,
                      uint64_t offset, uint64_t len)
{
  bool joined = conn_join_locked (conn);

  *request = (struct request) { .listed = false };
  if (conn->disk) {
    inflight_begin (&conn->disk->inflight, request, false, offset, len);
    request->by = &conn->unflushed;
  }
  if (conn->export)
    export_catch_up_locked (conn->export);
  request->ignored = conn_is_ignored_locked (conn);
  if (!request->ignored)
    hide_locked (conn, request);
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
    conn_joined (conn);
}

/* What is tainted already, or will be before the end, becomes unknown then.
 * The table keeps its errors, until somebody wants the sum.
 */
static void
observe_range (struct conn *conn, const struct request *request,
               const unsigned char *buf, uint64_t offset, uint64_t end)
{
  if (offset < end)
    leaves_learn_data (conn->export->leaves, buf + (offset - request->offset),
                       end - offset, offset);
}

void
observe_data (struct conn *conn, const struct request *request, const void *buf)
{
  if (request->ignored)
    return;
  observe_range (conn, request, buf, request->offset, request->hidden);
  observe_range (conn, request, buf, request->hidden_end, request->end);
}

/* Of a block that clients wrote to or trimmed, since the server started, an
 * extents reply proves nothing: a filter below that caches, as nbdkit's cache
 * filter does, passes on what the plugin says, which does not know what was
 * written, while its own copy does not know what was trimmed.
 */
static void
observe_zero (struct conn *conn, uint64_t offset, uint64_t end)
{
  uint32_t block_size = blkhash_opts_get_block_size (params.hash);
  uint64_t run_end;
  bool written;

  for (; offset < end; offset = run_end) {
    {
      SCOPED_LOCK (&exports_lock);

      written = block_set_at (&conn->disk->written, block_size, offset, end,
                              &run_end);
    }
    if (!written)
      leaves_learn_zero (conn->export->leaves, run_end - offset, offset);
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
                    end < request->hidden ? end : request->hidden);
      observe_zero (conn, offset > request->hidden_end ? offset
                                                     : request->hidden_end,
                    end);
    }
  }
}

/* The disk is not what was known of it: it was changed from outside, or it
 * never reads twice the same.  So what other names know of this range is no
 * better, and no sum of this disk is true any more.
 */
static bool
withdraw_contradicted_locked (struct export *export,
                              const struct request *request)
{
  size_t contradictions = leaves_contradictions (export->leaves);

  if (contradictions == export->contradictions || export->silent)
    return false;
  export->contradictions = contradictions;
  disk_change (export->disk, export, request->offset, request->end);
  return exports_withdraw_locked (export->disk, export,
                                  "another export name reads something else");
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
    withdrawn = withdraw_contradicted_locked (conn->export, request);
  }
  if (conn->export)
    conn->export->bytes_read += bytes_read;
  if (request->listed)
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
