/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Observe a request that reads.  See observe.h.
 */

#include <config.h>

#include <nbdkit-filter.h>

#include "../lib/common/util.h"
#include "../lib/leaves/leaves.h"
#include "blkhash-leaves.h"
#include "blkhash.h"
#include "blkhash/conn.h"
#include "blkhash/export.h"
#include "blkhash/observe.h"
#include "blkhash/params.h"

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

/* A run of data was read.  Returns true if it refutes the extents of the disk.
 * It is not known which content the tainted part had, so claims prove nothing
 * in its blocks.
 */
static bool
add_run_locked (struct conn *conn, const struct request *request,
                struct byte_range run)
{
  struct claims *claims = &conn->disk->claims;
  uint64_t size = blkhash_opts_get_block_size (params.hash);
  uint64_t taint = MAX (run.start, request->taint);
  uint64_t taint_end = MIN (run.end, request->taint_end);
  struct byte_range parts[] = { run, { run.end, run.end } };
  unsigned i;

  if (taint < taint_end) {
    claims_unproven (claims, taint, taint_end);
    parts[0].end = ROUND_DOWN (taint, size);
    parts[1].start = ROUND_UP (taint_end, size);
  }
  for (i = 0; i < 2; i++)
    if (parts[i].start < parts[i].end &&
        !claims_read (claims, conn->export->evidence, parts[i],
                      request->buf + (parts[i].start - request->offset)))
      return true;
  return false;
}

/* Record the runs of data that were read.  Returns true if sums were withdrawn.
 */
static bool
add_data_locked (struct conn *conn, struct request *request)
{
  bool refuted = false;
  unsigned i;

  for (i = 0; i < request->nr_data && !refuted; i++)
    refuted = add_run_locked (conn, request, request->data[i]);
  request->nr_data = 0;
  if (refuted)
    exports_refute_claims_locked (conn->export);
  return refuted;
}

/* Usually observe_end records the runs, so that a read takes the lock only
 * twice.  Only if there are too many runs, this is done here.
 */
static void
add_data (struct conn *conn, struct request *request)
{
  bool withdrawn;

  {
    SCOPED_LOCK (&exports_lock);

    withdrawn = add_data_locked (conn, request);
  }
  if (withdrawn)
    report_write ();
}

/* Add a range, including its tainted part, which observe_end invalidates.
 * Errors are sticky in the leaf table, and returned when it is folded.
 */
static void
observe_range (struct conn *conn, struct request *request,
               uint64_t offset, uint64_t end)
{
  const unsigned char *bytes = request->buf + (offset - request->offset);
  struct byte_range run = { offset, offset };
  bool zero = true;

  if (offset >= end)
    return;
  for (; claims_next_data (bytes, offset, end - offset, &run); zero = false) {
    if (request->nr_data == REQUEST_DATA)
      add_data (conn, request);
    request->data[request->nr_data++] = run;
  }
  /* Zeros need not be searched for data again. */
  if (zero)
    leaves_observe_zero (conn->export->leaves, end - offset, offset);
  else
    leaves_observe_data (conn->export->leaves, bytes, end - offset, offset);
}

void
observe_data (struct conn *conn, struct request *request, const void *buf)
{
  if (request->ignored)
    return;
  request->buf = buf;
  observe_range (conn, request, request->offset, request->unproven);
  observe_range (conn, request, request->unproven_end, request->end);
}

/* The plugin claims that a range is zero.  Returns true if this counts, and
 * sets *RUN_END, as claims_add.  *WITHDRAWN is set if sums were withdrawn.
 */
static bool
add_claim_locked (struct conn *conn, const struct request *request,
                  uint64_t offset, uint64_t end, uint64_t *run_end,
                  bool *withdrawn)
{
  enum claim claim;

  if (offset >= request->taint && offset < request->taint_end) {
    *run_end = MIN (end, request->taint_end);
    return false;
  }
  if (offset < request->taint && request->taint < request->taint_end)
    end = MIN (end, request->taint);
  claim = claims_add (&conn->disk->claims, conn->export->evidence, offset, end,
                      run_end);
  if (claim == CLAIM_WRONG) {
    exports_refute_claims_locked (conn->export);
    *withdrawn = true;
  }
  return claim == CLAIM_COUNTS;
}

/* Add a range that is zero by an extents reply, as far as this counts. */
static void
observe_zero (struct conn *conn, struct request *request,
              uint64_t offset, uint64_t end)
{
  bool counts, withdrawn = false;
  uint64_t run_end;

  for (; offset < end; offset = run_end) {
    {
      SCOPED_LOCK (&exports_lock);

      counts = add_claim_locked (conn, request, offset, end, &run_end,
                                 &withdrawn);
    }
    if (counts) {
      leaves_observe_zero (conn->export->leaves, run_end - offset, offset);
      request->claims = true;
    }
  }
  if (withdrawn)
    report_write ();
}

/* Set *OFFSET and *END to the next extent that is zero, or to several adjacent
 * ones.  *I is the index of the first extent to look at.  Returns false if
 * there is none.
 */
static bool
next_zero (const struct nbdkit_extents *extents, size_t *i, size_t count,
           uint64_t *offset, uint64_t *end)
{
  *offset = *end = 0;
  for (; *i < count; ++*i) {
    struct nbdkit_extent e = nbdkit_get_extent (extents, *i);

    if (e.type & NBDKIT_EXTENT_ZERO) {
      if (*offset == *end)
        *offset = e.offset;
      *end = e.offset + e.length;
    }
    else if (*offset < *end)
      break;
  }
  return *offset < *end;
}

void
observe_extents (struct conn *conn, struct request *request,
                 const struct nbdkit_extents *extents, bool first_only)
{
  size_t i = 0, count = nbdkit_extents_count (extents);
  uint64_t offset, end;

  if (first_only && count > 1)
    count = 1;
  if (request->ignored)
    return;
  while (next_zero (extents, &i, count, &offset, &end)) {
    offset = MAX (offset, request->offset);
    end = MIN (end, request->end);
    observe_zero (conn, request, offset, MIN (end, request->unproven));
    observe_zero (conn, request, MAX (offset, request->unproven_end), end);
  }
}

/* Handle the blocks for which this request, or another one in flight, returned
 * other content than the table has: the disk was changed without this filter,
 * or the plugin does not return the same data twice.  Invalidate these blocks
 * for the other exports too, and withdraw all sums of the disk.  Returns true
 * if a sum was withdrawn.
 */
static bool
withdraw_contradicted_locked (struct export *export)
{
  uint64_t offset, len;
  bool any = false;

  while (leaves_next_contradiction (export->leaves, &offset, &len)) {
    any = true;
    export_check_baseline_locked (export, offset, len);
    disk_log_change (export->disk, export, offset, offset + len);
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
    withdrawn = withdraw_contradicted_locked (conn->export) |
      add_data_locked (conn, request);
    /* Another request may have refuted the claims just before this one added
     * them to the table.
     */
    if (request->claims && conn->disk->claims.wrong)
      blkhash_leaves_forget (conn->export->leaves,
                             request->end - request->offset, request->offset);
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
    report_write ();
}
