/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Finish an export when its last connection disconnects, and when the server
 * ends.  See finish.h.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../lib/common/strata.h"
#include "../lib/common/util.h"
#include "../lib/leaves/leaves.h"
#include "blkhash.h"
#include "blkhash/conn.h"
#include "blkhash/export.h"
#include "blkhash/finish.h"
#include "blkhash/manifest-save.h"
#include "blkhash/params.h"
#include "blkhash/pass.h"
#include "blkhash/report.h"

#define MAX_TRIES 3             /* tries, if the disk changes during each */
#define WHY_HIDDEN "the last client may not see what others changed"

/* ---- Flushing ---- */

/* Flush a connection whose client has disconnected.  After the flush, this
 * connection sees the changes that other connections flushed, and they see its
 * changes (without multi-conn, only after they are flushed too).  Trims are an
 * exception: see visibility.h.  Returns false if the flush failed, or if the
 * plugin cannot flush.
 */
static bool
flush_conn (nbdkit_next *next, struct conn *conn)
{
  struct flush flush;
  int err, r;

  if (next->can_flush (next) != 1)
    return false;
  conn_flush_begin (conn, &flush);
  r = next->flush (next, 0, &err);
  conn_flush_end (conn, &flush, r == 0);
  return r == 0;
}

/* Flush the connection if other connections changed the disk after it was
 * opened or last flushed, even with multi-conn.  Returns false if it might
 * still not see the changes that they flushed: this flush failed, or the plugin
 * cannot flush and does not advertise multi-conn.
 */
static bool
flush_to_see_changes (const struct pass *p)
{
  {
    SCOPED_LOCK (&exports_lock);

    if (!conn_is_behind_locked (p->conn))
      return true;
  }
  if (flush_conn (p->next, p->conn))
    return true;
  /* If the plugin has multi-conn but cannot flush, reads are still possible:
   * visibility.c hides the blocks whose changes this connection might not see.
   */
  return p->conn->multi_conn && p->next->can_flush (p->next) == 0;
}

static bool
is_durable (const struct pass *p)
{
  SCOPED_LOCK (&exports_lock);

  return disk_is_durable (p->export->disk);
}

/* With blkhash-update, flush if the disk was changed since the last flush.  The
 * next server relies on the manifest, so all changes must be on the disk before
 * the manifest is published.  Returns false if some might not be on the disk:
 * this flush or an earlier one failed, or a change is in flight.  If the plugin
 * cannot flush, returns true without a flush.
 */
static bool
flush_to_update (const struct pass *p)
{
  if (!params.update || p->next->can_flush (p->next) == 0 || is_durable (p))
    return true;
  return flush_conn (p->next, p->conn) && is_durable (p);
}

/* ---- Reading what is missing ---- */

static bool
last_request_failed (const struct pass *p)
{
  return __atomic_load_n (&p->conn->last_failed, __ATOMIC_RELAXED);
}

static void
report_no_sum (const struct pass *p, const char *why)
{
  nbdkit_debug ("blkhash: no sum of '%s': %s", p->export->name, why);

  SCOPED_LOCK (&exports_lock);
  if (pass_is_last_locked (p) &&
      (last_request_failed (p) || !export_is_unused_locked (p->export)))
    export_unknown_locked (p->export, why);
}

/* Report that there is no sum, for the reason WHY.  The leaf table has failed,
 * so no sum is possible until the table is reset (see export_set_size_locked).
 */
static void
report_failure (const struct pass *p, const char *why)
{
  report_no_sum (p, why);
  SCOPED_LOCK (&exports_lock);
  p->export->broken = "its hash failed";
}

static bool
may_read (const struct pass *p, uint64_t bytes)
{
  SCOPED_LOCK (&exports_lock);

  return p->export->modified ||
    (p->sample ? bytes <= p->export->bytes_read
               : bytes < p->export->bytes_read);
}

/* Read the ranges that P needs, BYTES in total.  WHY is the reason to report if
 * they must not be read.  Returns 0, or -1 like read_missing.
 */
static int
read_ranges (const struct pass *p, uint64_t bytes, const char *why)
{
  char failed[EXPORT_WHY_SIZE];
  struct byte_range range;
  int err;

  /* A retry filter above may be reopening the connection after a failure. */
  if (last_request_failed (p)) {
    report_no_sum (p, params.missing == MISSING_FAIL
                        ? why : "the last request failed");
    return -1;
  }
  if (!may_read (p, bytes)) {
    nbdkit_debug ("blkhash: '%s': %s, waiting for another client",
                  p->export->name, why);
    return -1;
  }
  if (params.missing == MISSING_FAIL) {
    report_no_sum (p, why);
    return -1;
  }
  if (pass_is_hidden (p)) {
    report_no_sum (p, WHY_HIDDEN);
    return -1;
  }
  err = pass_read (p, bytes, &range);
  if (err == PASS_CANCELED)
    return -1;
  if (err == PASS_STALE && p->sample) {
    report_no_sum (p, WHY_HIDDEN);
    return -1;
  }
  if (err > 0) {
    snprintf (failed, sizeof failed, "%" PRIu64 " bytes at %" PRIu64
              " cannot be read: %s", range.end - range.start, range.start,
              strerror (err));
    report_no_sum (p, range.end > 0 ? failed : strerror (err));
    return -1;
  }
  return 0;
}

/* Query and read the missing ranges.  Returns 0, or -1 if this connection
 * publishes no sum.  If 0 is returned, ranges can still be missing only because
 * the disk was changed meanwhile; begin_fold detects that.
 */
static int
read_missing (const struct pass *p)
{
  uint64_t missing = pass_missing (p->leaves);
  char why[EXPORT_WHY_SIZE];

  if (missing == 0)
    return 0;
  if (!flush_to_see_changes (p)) {
    report_no_sum (p, WHY_HIDDEN);
    return -1;
  }
  pass_query_extents (p);
  missing = pass_missing (p->leaves);
  if (missing == 0)
    return 0;
  {
    SCOPED_LOCK (&exports_lock);

    export_why_missing_locked (p->export, missing, why);
  }
  return read_ranges (p, missing, why);
}

/* Read a sample of an export whose table began with a manifest.  A difference
 * is found by observe.c, which reports it.  Returns 0, or -1 if this connection
 * publishes no sum.
 */
static int
audit (const struct pass *p)
{
  struct pass audit = *p;
  struct strata sample;
  uint64_t bytes;

  switch (pass_choose_sample (&audit, &sample)) {
  case SAMPLE_NONE:
    return 0;
  case SAMPLE_FAILED:
    report_no_sum (p, EXPORT_NOT_AUDITED);
    return -1;
  case SAMPLE_CHOSEN:
    break;
  }
  if (!flush_to_see_changes (p)) {
    report_no_sum (p, WHY_HIDDEN);
    return -1;
  }
  bytes = MIN (sample.chosen * audit.sample_unit, p->export->size);
  if (read_ranges (&audit, bytes, EXPORT_NOT_AUDITED) == -1 ||
      pass_why_stop (p) == PASS_CANCELED)
    return -1;
  return 0;
}

/* Free the partial blocks of an export whose last client has disconnected:
 * other exports need the memory, and the blocks can be read again.  Keep the
 * blocks with blkhash-missing=fail, which reads nothing; and after a failed
 * request, because the client may reconnect, retry, and complete the blocks.
 */
static void
evict_pieces (const struct pass *p)
{
  bool is_last;

  {
    SCOPED_LOCK (&exports_lock);

    is_last = pass_is_last_locked (p);
  }
  /* If a connection joins just now, its partial blocks can become missing too,
   * which is harmless.
   */
  if (params.missing == MISSING_READ && is_last && !last_request_failed (p))
    leaves_release_pieces (p->leaves);
}

/* ---- The sum ---- */

/* Invalidate the ranges that were changed through other exports, and record the
 * number of changes, by which publish detects later changes through any export.
 * Returns true if no range is missing and no change is in flight.
 */
static bool
begin_fold (struct pass *p)
{
  {
    SCOPED_LOCK (&exports_lock);

    export_catch_up_locked (p->export);
    p->changes = p->export->disk->changes;
    p->logged = p->export->disk->logged;
    if (p->export->disk->changing > 0)
      return false;
  }
  return pass_missing (p->leaves) == 0;
}

/* Publish the sum, unless another connection has joined, or the other kind of
 * clients uses the disk.  Returns false if the sum is stale: there was a change
 * since begin_fold, perhaps through another export, or a change is in flight.
 */
static bool
publish (const struct pass *p, const unsigned char *md, unsigned len)
{
  const struct disk *disk = p->export->disk;
  SCOPED_LOCK (&exports_lock);

  if (!pass_is_last_locked (p) || disk->used_by[!p->conn->tls])
    return true;
  if (disk->changes != p->changes || disk->logged != p->logged ||
      disk->changing > 0)
    return false;
  export_publish_locked (p->export, md, len, p->saved);
  return true;
}

static void
end_manifest (struct pass *p)
{
  if (p->saved)
    manifest_end ();
  p->saved = false;
}

/* Returns true if the table began with the manifest of an earlier server, and
 * that is still valid (see export.h).  In this case the manifest file is left
 * as it is.
 */
static bool
has_manifest (const struct pass *p)
{
  SCOPED_LOCK (&exports_lock);

  return p->export->baseline && baseline_is_valid_locked ();
}

/* Returns true if this connection has no more to do: the result is reported, or
 * another connection will finish the export.  Returns false if the caller must
 * retry.
 */
static bool
try_to_finish (struct pass *p)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len;
  int err;

  end_manifest (p);             /* of the previous try */
  if (read_missing (p) == -1) {
    evict_pieces (p);
    return true;
  }
  if (!begin_fold (p))
    return false;
  err = has_manifest (p) ? blkhash_leaves_fold (p->leaves, md, &len)
                         : manifest_fold (p->leaves, md, &len, &p->saved);
  if (err == 0)
    return publish (p, md, len);
  if (err == EBUSY || err == ENODATA)
    return false;
  report_failure (p, strerror (err));
  return true;
}

/* ---- The last connection ---- */

/* Start a pass.  Returns false if none is needed: the export has a sum, or
 * another connection has joined.  *WHY is set to the reason why there can be no
 * sum, or to NULL.
 */
static bool
start (struct pass *p, const char **why)
{
  SCOPED_LOCK (&exports_lock);

  export_catch_up_locked (p->export);
  p->joins = p->export->joins;
  p->changes = p->export->disk->changes;
  p->leaves = p->export->leaves;
  *why = export_why_no_sum_locked (p->export);
  return !p->export->published && pass_is_last_locked (p);
}

/* Returns the reason to report after the last try.  CHANGES is disk->changes
 * before the first try.
 */
static const char *
why_retries_failed (const struct pass *p, uint64_t changes)
{
  const struct disk *disk = p->export->disk;
  SCOPED_LOCK (&exports_lock);

  return disk->changes != changes || disk->changing > 0
    ? "it was changed through another export name"
    : "it changed while it was read";
}

static void
finish_pass (struct pass *p)
{
  const char *why;
  uint64_t changes;
  int i;

  if (!start (p, &why))
    return;
  if (why) {
    report_no_sum (p, why);
    return;
  }
  if (!flush_to_update (p)) {
    report_no_sum (p, EXPORT_NOT_FLUSHED);
    return;
  }
  if (audit (p) == -1) {
    evict_pieces (p);
    return;
  }
  changes = p->changes;
  for (i = 0; i < MAX_TRIES; i++)
    if (try_to_finish (p))
      return;
  report_no_sum (p, why_retries_failed (p, changes));
}

/* Clients of the other kind, with TLS or without, can have come during the
 * pass, and can see another disk.  If clients of this kind made requests, too,
 * there is no sum.  Otherwise only what the pass has found is forgotten.
 */
static void
report_mixed (const struct pass *p)
{
  struct disk *disk = p->export->disk;
  bool mixed;

  {
    SCOPED_LOCK (&exports_lock);

    mixed = disk_is_mixed (disk);
    if (disk->used_by[!p->conn->tls])
      export_forget_locked (p->export);
  }
  if (mixed)
    report_no_sum (p, EXPORT_MIXED);
}

void
finish_export (nbdkit_next *next, struct conn *conn)
{
  struct pass p = { .next = next, .conn = conn, .export = conn->export };

  finish_pass (&p);
  report_mixed (&p);
  report_write ();
  end_manifest (&p);
}

/* ---- Any connection ---- */

static bool
needs_flush (struct conn *conn)
{
  SCOPED_LOCK (&exports_lock);

  return visibility_needs_flush (&conn->unflushed);
}

/* Returns true if reads by this connection can help to complete the leaf table.
 */
static bool
must_read_own_changes (const struct pass *p)
{
  SCOPED_LOCK (&exports_lock);

  return params.missing == MISSING_READ && p->export && p->export->leaves &&
    !export_why_no_sum_locked (p->export) && !last_request_failed (p);
}

/* Most changes become visible to other connections with a flush.  Trims, and
 * all changes if the plugin cannot flush, may remain hidden until the plugin
 * closes this connection, after the filter's last callback (see visibility.h).
 * Until then only this connection can read the changed content.  So read it
 * back, even if no other connection is open: one can be opened before this one
 * is closed.
 */
void
finish_changes (nbdkit_next *next, struct conn *conn)
{
  struct pass p = {
    .next = next, .conn = conn, .export = conn->export, .own_only = true
  };
  struct byte_range failed;

  if (needs_flush (conn))
    flush_conn (next, conn);
  if (!must_read_own_changes (&p))
    return;
  p.leaves = p.export->leaves;
  pass_read (&p, 0, &failed);
}

/* ---- The end of the server ----
 *
 * The final report is written from .cleanup.  The plugin can no longer be read,
 * so an export has a sum only if the content of all its blocks is known.  Any
 * other export that clients read or changed gets a line that says why it has no
 * sum: a script must not mistake a missing line for success.
 */

static bool
has_change_in_flight (const struct export *export)
{
  SCOPED_LOCK (&exports_lock);

  return export->disk->changing > 0;
}

/* If no block is missing and no change is in flight, compute the sum from the
 * leaves, and publish it.  This is needed if the last connection of the export
 * ended without .finalize.  Returns false if the export has no sum.
 */
static bool
publish_if_complete (struct export *export)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len;
  bool saved;

  if (has_change_in_flight (export) || pass_missing (export->leaves) > 0 ||
      manifest_fold (export->leaves, md, &len, &saved) != 0)
    return false;
  {
    SCOPED_LOCK (&exports_lock);

    export_publish_locked (export, md, len, saved);
  }
  if (saved) {
    report_write ();
    manifest_end ();
  }
  return true;
}

/* Set if exports that clients neither read nor changed are reported, too. */
static bool report_unused;

/* Invalidate the ranges that were changed through other exports.  Returns true
 * if EXPORT has no sum yet.  *WHY is set to the reason why EXPORT cannot have a
 * sum, or to NULL.
 */
static bool
begin_report (struct export *export, const char **why)
{
  SCOPED_LOCK (&exports_lock);

  *why = export_why_no_sum_locked (export);
  if (!export->published && !*why)
    export_catch_up_locked (export);
  if (!*why && export->baseline && params.audit > 0)
    *why = EXPORT_NOT_AUDITED;
  if (!*why && params.update && !disk_is_durable (export->disk))
    *why = EXPORT_NOT_FLUSHED;
  return !export->published;
}

static void
report_export (struct export *export)
{
  char missing[EXPORT_WHY_SIZE];
  const char *why;

  if (!begin_report (export, &why))
    return;
  if (!why && publish_if_complete (export))
    return;

  SCOPED_LOCK (&exports_lock);
  if (!why) {
    export_why_missing_locked (export, pass_missing (export->leaves), missing);
    why = missing;
  }
  if (!export->line.text &&
      (report_unused || !export_is_unused_locked (export)))
    export_unknown_locked (export, why);
}

void
finish_report (void)
{
  exports_foreach (report_export);
  if (report_is_empty ()) {
    report_unused = true;
    exports_foreach (report_export);
  }
  report_write ();
}
