/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of each export, from the requests that pass by.
 *
 * Hashing is done between begin and end of a request, without the lock.  A
 * request that is tainted while it is hashed makes that part unknown when it
 * ends, and so does the other one: it does not matter which ends first.
 *
 * Most plugins serve one disk under every name, so requests are in flight on
 * all exports at once, and what is changed by one name is unknown by all
 * others, unless the user said that exports are distinct.
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "blkhash.h"

#include "../lib/cleanup.h"
#include "../lib/leaves.h"
#include "export.h"
#include "params.h"

/* Clients choose names, and most plugins take any: they must not be able to
 * fill the memory with exports.
 */
#define MAX_EXPORTS 10000

pthread_mutex_t exports_lock = PTHREAD_MUTEX_INITIALIZER;

/* Protected by exports_lock. */
static struct export *exports, **exports_tail = &exports;
static unsigned nr_exports;
static struct inflight shared_inflight; /* unless exports are distinct */
static pthread_cond_t not_finishing = PTHREAD_COND_INITIALIZER;

/* Of pieces of blocks that wait for the rest, in all exports together. */
static struct pieces_budget budget = { .bound = 64 * 1024 * 1024 };

/* ---- Connections ---- */

static struct export *
find_export_locked (const char *name)
{
  struct export *export;

  for (export = exports; export; export = export->next)
    if (strcmp (export->name, name) == 0)
      return export;
  if (nr_exports == MAX_EXPORTS) {
    nbdkit_error ("blkhash: more than %u exports, '%s' is not watched",
                  MAX_EXPORTS, name);
    return NULL;
  }
  export = calloc (1, sizeof *export);
  if (export)
    export->name = strdup (name);
  if (!export || !export->name) {
    nbdkit_error ("blkhash: %m");
    free (export);
    return NULL;
  }
  *exports_tail = export;
  exports_tail = &export->next;
  nr_exports++;
  return export;
}

/* Nothing is known: a new export, or one that is not what it was. */
static void
reset_locked (struct export *export, uint64_t size)
{
  blkhash_leaves_free (export->leaves);
  export->leaves = leaves_new_in_budget (params.hash, size, 0, &budget);
  export->broken = export->leaves ? NULL : "no memory";
  export->contradictions = 0;
  export->size = size;
  export->written = false;
  export->bytes_read = 0;
  if (export->published)
    report_withdraw (&export->line);
  export->published = false;
}

static void
open_locked (struct export *export, uint64_t size)
{
  bool in_use = export->conns > 0 || export->finishing;

  if (!in_use && (export->broken || !export->leaves || export->size != size))
    reset_locked (export, size);
  else if (export->size != size) {
    export->broken = "its size changed while it was in use";
    if (export->published)
      report_withdraw (&export->line);
    export->published = false;
  }
  export->conns++;
  export->opens++;
}

void
exports_open (struct conn *conn, const char *name, uint64_t size,
              bool multi_conn)
{
  SCOPED_LOCK (&exports_lock);

  conn->export = find_export_locked (name);
  if (!conn->export)
    return;
  open_locked (conn->export, size);
  conn->open = true;
  conn->multi_conn = multi_conn;
  conn->changes_at_open = conn->export->changes;
}

bool
exports_leave (struct conn *conn)
{
  SCOPED_LOCK (&exports_lock);

  if (!conn->open)
    return false;
  conn->open = false;
  if (--conn->export->conns > 0)
    return false;
  /* What an earlier one has read just before we changed it must be out of the
   * table before we believe the table.
   */
  while (conn->export->finishing)
    pthread_cond_wait (&not_finishing, &exports_lock);
  if (conn->export->conns > 0)
    return false;
  conn->export->finishing = true;
  return true;
}

void
exports_finished (struct conn *conn)
{
  SCOPED_LOCK (&exports_lock);

  conn->export->finishing = false;
  pthread_cond_broadcast (&not_finishing);
}

/* ---- Looks ---- */

static struct inflight *
inflight_of (const struct conn *conn)
{
  return params.distinct_exports && conn->export ? &conn->export->inflight
                                                 : &shared_inflight;
}

/* Did another connection change the export since this one opened, so that it
 * may see what was before?  When it is the last it sees everything.
 */
static bool
may_be_stale_locked (const struct conn *conn)
{
  return conn->open && !conn->multi_conn &&
    conn->export->changes - conn->changes_at_open != conn->own_changes;
}

void
learn_begin (struct conn *conn, struct request *request,
             uint64_t offset, uint64_t len)
{
  SCOPED_LOCK (&exports_lock);

  inflight_begin (inflight_of (conn), request, false, offset, len);
  request->ignored = !conn->export || conn->export->broken ||
    may_be_stale_locked (conn);
}

/* What is tainted already, or will be before the end, becomes unknown then.
 * The table keeps its errors, until somebody wants the sum.
 */
void
learn_data (struct conn *conn, const struct request *request, const void *buf)
{
  if (!request->ignored)
    leaves_learn_data (conn->export->leaves, buf,
                       request->end - request->offset, request->offset);
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
    if ((e.type & NBDKIT_EXTENT_ZERO) && offset < end)
      leaves_learn_zero (conn->export->leaves, end - offset, offset);
  }
}

/* The disk is not what the sum says: it was changed from outside, or it never
 * reads twice the same.
 */
static void
withdraw_contradicted_locked (struct export *export)
{
  uint64_t contradictions = leaves_contradictions (export->leaves);

  if (contradictions == export->contradictions)
    return;
  export->contradictions = contradictions;
  if (export->published)
    report_withdraw (&export->line);
  export->published = false;
}

void
learn_end (struct conn *conn, struct request *request)
{
  SCOPED_LOCK (&exports_lock);

  if (!request->ignored) {
    blkhash_leaves_forget (conn->export->leaves,
                           request->taint_end - request->taint,
                           request->taint);
    withdraw_contradicted_locked (conn->export);
  }
  inflight_end (inflight_of (conn), request);
}

void
count_read (struct conn *conn, uint64_t len)
{
  SCOPED_LOCK (&exports_lock);

  if (conn->export)
    conn->export->bytes_read += len;
}

/* ---- Changes ---- */

/* Is EXPORT changed by what goes through CONN? */
static bool
is_affected (const struct conn *conn, const struct export *export)
{
  return export == conn->export || !params.distinct_exports;
}

/* The content of EXPORT changes, or has just changed: no sum of it is right. */
static void
note_change_locked (const struct conn *conn, struct export *export)
{
  export->changes++;
  if (export == conn->export)
    export->written = true;
  if (!export->published)
    return;
  export->published = false;
  if (export == conn->export)
    report_withdraw (&export->line);
  else
    report_incomplete (&export->line, export->name,
                       "it was changed by another export name");
}

void
change_begin (struct conn *conn, struct request *request,
              uint64_t offset, uint64_t len)
{
  struct export *export;
  SCOPED_LOCK (&exports_lock);

  inflight_begin (inflight_of (conn), request, true, offset, len);
  conn->own_changes++;
  for (export = exports; export; export = export->next)
    if (is_affected (conn, export))
      note_change_locked (conn, export);
}

/* Forget a range in an export that can be smaller than ours. */
static void
forget (struct export *export, uint64_t offset, uint64_t end)
{
  if (end > export->size)
    end = export->size;
  if (export->leaves && offset < end)
    blkhash_leaves_forget (export->leaves, end - offset, offset);
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
  uint64_t taint, taint_end;

  {
    SCOPED_LOCK (&exports_lock);

    if (conn->export->broken)
      return;
    taint = request->taint;
    taint_end = request->taint_end;
  }
  if (taint == taint_end)
    taint = taint_end = request->end;
  apply (leaves, change, buf, request, request->offset, taint);
  apply (leaves, change, buf, request, taint_end, request->end);
}

void
change_end (struct conn *conn, struct request *request,
            enum change change, const void *buf)
{
  struct export *export;

  if (change != CHANGE_UNKNOWN && conn->export)
    apply_untainted (conn, request, change, buf);

  SCOPED_LOCK (&exports_lock);
  conn->own_changes++;
  for (export = exports; export; export = export->next)
    if (is_affected (conn, export)) {
      /* Again: one of another name may have published meanwhile. */
      note_change_locked (conn, export);
      if (export != conn->export || change == CHANGE_UNKNOWN)
        forget (export, request->offset, request->end);
      else
        forget (export, request->taint, request->taint_end);
    }
  inflight_end (inflight_of (conn), request);
}

/* ---- The end ---- */

void
exports_foreach (void (*fn) (struct export *export))
{
  struct export *export;
  SCOPED_LOCK (&exports_lock);

  for (export = exports; export; export = export->next)
    fn (export);
}

void
exports_free (void)
{
  while (exports) {
    struct export *export = exports;

    exports = export->next;
    blkhash_leaves_free (export->leaves);
    free (export->line.text);
    free (export->name);
    free (export);
  }
}
