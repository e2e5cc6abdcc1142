/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Observe a request that modifies the disk.  See modify.h.
 */

#include <config.h>

#include <nbdkit-filter.h>

#include "../lib/common/util.h"
#include "blkhash.h"
#include "blkhash/conn.h"
#include "blkhash/export.h"
#include "blkhash/modify.h"
#include "blkhash/params.h"

/* Record that this range may no longer have the content of the baseline. */
static void
leave_baseline_locked (struct disk *disk, uint64_t offset, uint64_t end)
{
  if (params.update)
    block_set_add (&disk->changed, blkhash_opts_get_block_size (params.hash),
                   offset, end);
}

/* Returns true if EXPORT has a sum.  If its table began with the baseline, also
 * returns true if the baseline is still valid or another export has a sum.
 */
static bool
has_sum_locked (const struct export *export)
{
  return export->published ||
    (export->baseline && exports_have_sum_locked (export->disk));
}

/* Returns the result of conn_join_locked. */
static bool
modify_begin_locked (struct conn *conn, struct request *request,
                     uint64_t offset, uint64_t len)
{
  bool joined = conn_join_locked (conn);

  if (!conn->disk) {
    *request = (struct request) {
      .ignored = true, .offset = offset, .end = offset + len
    };
    return joined;
  }
  disk_change_begin (conn->disk, request, offset, len);
  leave_baseline_locked (conn->disk, offset, offset + len);
  request->by = &conn->unflushed;
  conn->own_changes++;
  request->ignored = conn_is_ignored_locked (conn);
  if (conn->export)
    export_catch_up_locked (conn->export);
  /* MODIFIED makes finish.c read the missing ranges when the last client
   * disconnects.  An export that had a sum needs that to get a sum again.
   */
  if (conn->export && has_sum_locked (conn->export))
    conn->export->modified = true;
  if (exports_have_sum_locked (conn->disk))
    exports_withdraw_locked (conn->disk, conn->export,
                             "it was changed through another export name");
  return joined;
}

/* report_await_withdrawals is called even if this request withdrew no sum:
 * another thread may have withdrawn the sums of this disk, but not yet removed
 * them from the result file.
 */
void
modify_begin (struct conn *conn, struct request *request,
              uint64_t offset, uint64_t len)
{
  bool joined;

  {
    SCOPED_LOCK (&exports_lock);

    joined = modify_begin_locked (conn, request, offset, len);
  }
  if (joined)
    conn_join_end (conn);
  report_await_withdrawals ();
}

/* Add the bytes of the request from OFFSET to END to the leaf table. */
static void
apply (struct blkhash_leaves *leaves, enum modify_result result,
       const unsigned char *buf, const struct request *request,
       uint64_t offset, uint64_t end)
{
  if (offset >= end)
    return;
  if (result == MODIFY_DATA)
    blkhash_leaves_data (leaves, buf + (offset - request->offset),
                         end - offset, offset);
  else
    blkhash_leaves_zero (leaves, end - offset, offset);
}

/* Add the request without its tainted part to the leaf table. */
static void
apply_untainted (struct conn *conn, const struct request *request,
                 enum modify_result result, const void *buf)
{
  struct blkhash_leaves *leaves = conn->export->leaves;
  uint64_t taint = request->end, taint_end = request->end;

  if (inflight_is_tainted (request)) {
    SCOPED_LOCK (&exports_lock);

    taint = request->taint;
    taint_end = request->taint_end;
  }
  apply (leaves, result, buf, request, request->offset, taint);
  apply (leaves, result, buf, request, taint_end, request->end);
}

static void
invalidate (struct export *export, uint64_t offset, uint64_t end)
{
  if (export->leaves)
    blkhash_leaves_forget (export->leaves, end - offset, offset);
}

/* Extend the range to whole blocks of the hash. */
static void
round_to_blocks (uint64_t *offset, uint64_t *end)
{
  uint64_t block_size = blkhash_opts_get_block_size (params.hash);

  *offset = ROUND_DOWN (*offset, block_size);
  *end = ROUND_UP (*end, block_size);
}

/* Invalidate the range for all exports, and taint it in reads in flight, which
 * may return the old content.  From then on extents of the range prove nothing.
 */
static void
invalidate_all (struct conn *conn, uint64_t offset, uint64_t end)
{
  inflight_taint_reads (&conn->disk->inflight, offset, end);
  leave_baseline_locked (conn->disk, offset, end);
  if (!claims_changed (&conn->disk->claims, offset, end))
    round_to_blocks (&offset, &end);
  disk_log_change (conn->disk, conn->export, offset, end);
  if (conn->export && offset < conn->export->size)
    invalidate (conn->export, offset, MIN (end, conn->export->size));
}

/* Invalidate the range, extended to whole blocks of the layers below. */
static void
invalidate_around (struct conn *conn, uint64_t offset, uint64_t end)
{
  visibility_round (&offset, &end);
  invalidate_all (conn, offset, end);
}

/* Record that the request has overwritten OFFSET to END, except its tainted
 * part.
 */
static void
overwrite_locked (struct conn *conn, const struct request *request,
                  uint64_t offset, uint64_t end)
{
  struct visibility *v = &conn->disk->visibility;

  if (offset < request->taint)
    visibility_overwrite (v, offset, MIN (end, request->taint));
  if (end > request->taint_end)
    visibility_overwrite (v, MAX (offset, request->taint_end), end);
}

/* Returns true if another connection has an unflushed change of the byte at
 * OFFSET.  Sets *RUN_END to the end of the range to which the same answer
 * applies.
 */
static bool
is_conflict_locked (struct conn *conn, uint64_t offset, uint64_t end,
                    uint64_t *run_end)
{
  struct visibility *v = &conn->disk->visibility;

  *run_end = end;
  return !visibility_is_alone (v, &conn->unflushed) &&
    visibility_conflict (v, &conn->unflushed, offset, end, run_end);
}

/* Invalidate the ranges between OFFSET and END that are hidden from this
 * connection (see visibility.h).  Returns true if there were any such ranges.
 */
static bool
invalidate_hidden_locked (struct conn *conn, uint64_t offset, uint64_t end)
{
  uint64_t run_end;
  bool any = false;

  for (; offset < end; offset = run_end)
    if (visibility_hidden (&conn->disk->visibility, &conn->unflushed,
                           offset, end, &run_end)) {
      invalidate_all (conn, offset, run_end);
      any = true;
    }
  return any;
}

/* A request that covers only a part of a block of a layer below is a
 * read-modify-write there: the layer writes back the rest of the block as this
 * connection sees it.  Invalidate the rest where it is hidden from this
 * connection.  This is needed only if there was a trim, or if blocks of a layer
 * can begin at any byte.  Otherwise a change in the same block that is hidden
 * from this connection is already treated as a conflict.
 */
static void
invalidate_surroundings_locked (struct conn *conn,
                                const struct request *request)
{
  const struct visibility *v = &conn->disk->visibility;
  uint64_t start = request->offset, end = request->end;

  if (!(v->trims || params.shifted) ||
      visibility_is_alone (v, &conn->unflushed))
    return;
  visibility_round (&start, &end);
  invalidate_hidden_locked (conn, start, request->offset);
  invalidate_hidden_locked (conn, request->end, end);
}

/* Invalidate the ranges of the request in which another connection has
 * unflushed changes, or that a flush of another connection may have overwritten
 * during the request.  If KNOWN is set, the new content is known: record that
 * the request has overwritten the other ranges, unless there was such a flush.
 */
static void
invalidate_conflicts_locked (struct conn *conn, const struct request *request,
                             bool known)
{
  bool overwritten = request->unproven < request->unproven_end;
  uint64_t offset, run_end;

  if (overwritten)
    invalidate_around (conn, request->unproven, request->unproven_end);
  for (offset = request->offset; offset < request->end; offset = run_end)
    if (is_conflict_locked (conn, offset, request->end, &run_end))
      invalidate_around (conn, offset, run_end);
    else if (known && !overwritten)
      overwrite_locked (conn, request, offset, run_end);
  invalidate_surroundings_locked (conn, request);
}

/* Record the change, and invalidate content that is unknown after it.  KNOWN is
 * set if the leaf table already has the new content, except the tainted part.
 */
static void
record_change_locked (struct conn *conn, const struct request *request,
                      enum modify_result result, bool known)
{
  uint64_t offset = request->offset, end = request->end;

  invalidate_conflicts_locked (conn, request, known);
  visibility_change (&conn->disk->visibility, &conn->unflushed,
                     request->offset, request->end, result == MODIFY_TRIM);
  if (result == MODIFY_ZERO)
    claims_zeroed (&conn->disk->claims, request->offset, request->end);
  else if (!claims_changed (&conn->disk->claims, request->offset,
                            request->end)) {
    round_to_blocks (&offset, &end);
    invalidate_all (conn, offset, end);
  }
  if (request->ignored)
    invalidate_around (conn, request->offset, request->end);
  if (!conn->export)
    return;
  if (result != MODIFY_REFUSED)
    conn->export->modified = true;
  if (known)
    invalidate (conn->export, request->taint, request->taint_end);
  else
    invalidate (conn->export, request->offset, request->end);
}

void
modify_end (struct conn *conn, struct request *request,
            enum modify_result result, const void *buf)
{
  bool known = (result == MODIFY_DATA || result == MODIFY_ZERO) &&
    !request->ignored;
  bool late;

  if (known)
    apply_untainted (conn, request, result, buf);
  {
    SCOPED_LOCK (&exports_lock);

    /* If CONN had no disk when the request began, it may have one now: begin
     * the change here.
     */
    late = !request->tracked;
    if (late)
      modify_begin_locked (conn, request, request->offset,
                           request->end - request->offset);
    if (request->tracked) {
      conn->own_changes++;
      record_change_locked (conn, request, result, known);
      disk_change_end (conn->disk, request, conn->export);
    }
  }
  if (late)
    report_await_withdrawals ();
}

/* This connection prefetched OFFSET to END.  If another connection had trimmed
 * a part of this range, and the trim is hidden from this connection, a cache
 * below may have stored the old content, which other connections then read.
 * Invalidate the parts whose changes are hidden; or the whole range if this
 * connection is stale, because then it is not known which changes it sees.
 * Returns true if anything was invalidated.
 */
static bool
invalidate_prefetched_locked (struct conn *conn, uint64_t offset, uint64_t end)
{
  const struct visibility *v = &conn->disk->visibility;

  if (!v->trims)
    return false;
  visibility_round (&offset, &end);
  if (conn_is_stale_locked (conn)) {
    invalidate_all (conn, offset, end);
    return true;
  }
  return !visibility_is_alone (v, &conn->unflushed) &&
    invalidate_hidden_locked (conn, offset, end);
}

/* Returns the result of conn_join_locked. */
static bool
prefetched_locked (struct conn *conn, uint64_t offset, uint64_t len)
{
  bool joined = conn_join_locked (conn);

  if (!conn->disk || !invalidate_prefetched_locked (conn, offset, offset + len))
    return joined;
  /* For the same reason as in modify_begin_locked. */
  if (conn->export && has_sum_locked (conn->export))
    conn->export->modified = true;
  exports_withdraw_locked (conn->disk, conn->export,
                           "a prefetch cached old content of a trimmed range");
  return joined;
}

void
modify_prefetched (struct conn *conn, uint64_t offset, uint64_t len)
{
  bool joined;

  {
    SCOPED_LOCK (&exports_lock);

    joined = prefetched_locked (conn, offset, len);
  }
  if (joined)
    conn_join_end (conn);
  report_await_withdrawals ();
}
