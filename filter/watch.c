/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is learnt from each request that passes by.
 *
 * Hashing is done between begin and end of a request, without the lock.  A
 * request that is tainted while it is hashed makes that part unknown when it
 * ends, and so does the other one: it does not matter which ends first.
 *
 * A connection without multi-conn that may not see what another one changed
 * teaches nothing, and what it changes is not known.  With multi-conn, too,
 * another connection may not see a change before it was flushed: visibility.c
 * says of each block whether what is read there proves anything, and whether it
 * is known which of two changes is the last.
 *
 * A fast zero that was refused may have changed its range: a filter such as
 * nbdkit's retry filter can have zeroed half of it before it was refused, or
 * all of it when only the flush that emulates FUA was.  Its range is unknown.
 * But a client that did nothing else is not one that writes, for which the rest
 * would be read.
 */

#include <config.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "blkhash.h"

#include "../lib/common/cleanup.h"
#include "../lib/leaves/leaves.h"
#include "conn.h"
#include "export.h"
#include "params.h"
#include "watch.h"

/* ---- Looks ---- */

/* Is nothing to be learnt from what goes through CONN now? */
static bool
is_ignored_locked (const struct conn *conn)
{
  return !conn->export || conn->export->broken || conn_is_stale_locked (conn);
}

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
learn_begin_locked (struct conn *conn, struct request *request,
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
  request->ignored = is_ignored_locked (conn);
  if (!request->ignored)
    hide_locked (conn, request);
  return joined;
}

void
learn_begin (struct conn *conn, struct request *request,
             uint64_t offset, uint64_t len)
{
  bool joined;

  {
    SCOPED_LOCK (&exports_lock);

    joined = learn_begin_locked (conn, request, offset, len);
  }
  if (joined)
    conn_joined (conn);
}

/* What is tainted already, or will be before the end, becomes unknown then.
 * The table keeps its errors, until somebody wants the sum.
 */
static void
learn_range (struct conn *conn, const struct request *request,
             const unsigned char *buf, uint64_t offset, uint64_t end)
{
  if (offset < end)
    leaves_learn_data (conn->export->leaves, buf + (offset - request->offset),
                       end - offset, offset);
}

void
learn_data (struct conn *conn, const struct request *request, const void *buf)
{
  if (request->ignored)
    return;
  learn_range (conn, request, buf, request->offset, request->hidden);
  learn_range (conn, request, buf, request->hidden_end, request->end);
}

/* Of a block that clients wrote to or trimmed, since the server started, an
 * extents reply proves nothing: a filter below that caches, as nbdkit's cache
 * filter does, passes on what the plugin says, which does not know what was
 * written, while its own copy does not know what was trimmed.
 */
static void
learn_zero (struct conn *conn, uint64_t offset, uint64_t end)
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
learn_extents (struct conn *conn, const struct request *request,
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
      learn_zero (conn, offset, end < request->hidden ? end : request->hidden);
      learn_zero (conn, offset > request->hidden_end ? offset
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
learn_end_locked (struct conn *conn, struct request *request,
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
learn_end (struct conn *conn, struct request *request, uint64_t bytes_read)
{
  bool withdrawn;

  {
    SCOPED_LOCK (&exports_lock);

    withdrawn = learn_end_locked (conn, request, bytes_read);
  }
  if (withdrawn)
    report_await_withdrawals ();
}

/* ---- Changes ---- */

/* As conn_join_locked. */
static bool
change_begin_locked (struct conn *conn, struct request *request,
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
  request->by = &conn->unflushed;
  conn->own_changes++;
  request->ignored = is_ignored_locked (conn);
  if (conn->export)
    export_catch_up_locked (conn->export);
  /* Its sum was there, so it is wanted again: the rest will be read. */
  if (conn->export && conn->export->published)
    conn->export->written = true;
  if (conn->disk->published)
    exports_withdraw_locked (conn->disk, conn->export,
                             conn_is_shut_out_locked (conn)
                             ? "it was changed by a client without TLS"
                             : "it was changed by another export name");
  return joined;
}

/* Others can have withdrawn what was said of this disk a moment ago, and be
 * writing it out still.
 */
void
change_begin (struct conn *conn, struct request *request,
              uint64_t offset, uint64_t len)
{
  bool joined;

  {
    SCOPED_LOCK (&exports_lock);

    joined = change_begin_locked (conn, request, offset, len);
  }
  if (joined)
    conn_joined (conn);
  report_await_withdrawals ();
}

static void
apply (struct blkhash_leaves *leaves, enum change change,
       const unsigned char *buf, const struct request *request,
       uint64_t offset, uint64_t end)
{
  if (offset >= end)
    return;
  if (change == CHANGE_DATA)
    blkhash_leaves_data (leaves, buf + (offset - request->offset),
                         end - offset, offset);
  else
    blkhash_leaves_zero (leaves, end - offset, offset);
}

/* Everything but what is tainted by now. */
static void
apply_untainted (struct conn *conn, const struct request *request,
                 enum change change, const void *buf)
{
  struct blkhash_leaves *leaves = conn->export->leaves;
  uint64_t taint = request->end, taint_end = request->end;

  if (inflight_is_tainted (request)) {
    SCOPED_LOCK (&exports_lock);

    taint = request->taint;
    taint_end = request->taint_end;
  }
  apply (leaves, change, buf, request, request->offset, taint);
  apply (leaves, change, buf, request, taint_end, request->end);
}

static void
forget (struct export *export, uint64_t offset, uint64_t end)
{
  if (export->leaves)
    blkhash_leaves_forget (export->leaves, end - offset, offset);
}

/* With what is judged as one with it. */
static void
forget_around (struct export *export, uint64_t offset, uint64_t end)
{
  visibility_round (&offset, &end);
  forget (export, offset, end < export->size ? end : export->size);
}

/* From OFFSET to END it is what this change made of it. */
static void
overwrite_locked (struct conn *conn, const struct request *request,
                  uint64_t offset, uint64_t end)
{
  struct visibility *v = &conn->disk->visibility;

  if (offset < request->taint)
    visibility_overwrite (v, offset,
                          end < request->taint ? end : request->taint);
  if (end > request->taint_end)
    visibility_overwrite (v, offset > request->taint_end ? offset
                                                         : request->taint_end,
                          end);
}

static bool
is_conflict_locked (struct conn *conn, uint64_t offset, uint64_t end,
                    uint64_t *run_end)
{
  struct visibility *v = &conn->disk->visibility;

  *run_end = end;
  return !visibility_is_alone (v, &conn->unflushed) &&
    visibility_conflict (v, &conn->unflushed, offset, end, run_end);
}

/* What another connection changed too, or flushed meanwhile, is not known; what
 * is KNOWN replaces what was there.
 */
static void
judge_conflicts_locked (struct conn *conn, const struct request *request,
                        bool known)
{
  bool replaced = request->hidden < request->hidden_end;
  uint64_t offset, run_end;

  if (replaced && conn->export)
    forget_around (conn->export, request->hidden, request->hidden_end);
  for (offset = request->offset; offset < request->end; offset = run_end)
    if (is_conflict_locked (conn, offset, request->end, &run_end)) {
      if (conn->export)
        forget_around (conn->export, offset, run_end);
    }
    else if (known && !replaced)
      overwrite_locked (conn, request, offset, run_end);
}

/* What is left behind, but for what is KNOWN and in the table already. */
static void
note_change_locked (struct conn *conn, const struct request *request,
                    enum change change, bool known)
{
  judge_conflicts_locked (conn, request, known);
  visibility_change (&conn->disk->visibility, &conn->unflushed,
                     request->offset, request->end, change == CHANGE_TRIM);
  if (change != CHANGE_ZERO)
    block_set_add (&conn->disk->written,
                   blkhash_opts_get_block_size (params.hash),
                   request->offset, request->end);
  if (!conn->export)
    return;
  if (change != CHANGE_REFUSED)
    conn->export->written = true;
  if (known)
    forget (conn->export, request->taint, request->taint_end);
  else if (request->ignored)
    forget_around (conn->export, request->offset, request->end);
  else
    forget (conn->export, request->offset, request->end);
}

void
change_end (struct conn *conn, struct request *request,
            enum change change, const void *buf)
{
  bool known = (change == CHANGE_DATA || change == CHANGE_ZERO) &&
    !request->ignored;
  bool late;

  if (known)
    apply_untainted (conn, request, change, buf);
  {
    SCOPED_LOCK (&exports_lock);

    /* Nothing was known of its disk when it began. */
    late = !request->listed;
    if (late)
      change_begin_locked (conn, request, request->offset,
                           request->end - request->offset);
    if (request->listed) {
      conn->own_changes++;
      note_change_locked (conn, request, change, known);
      disk_change_end (conn->disk, request, conn->export);
    }
  }
  if (late)
    report_await_withdrawals ();
}
