/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass over the missing ranges of an export (those whose content is not
 * known): query their extents, find the ranges that must be read, and read
 * them.
 *
 * finish.c decides whether there is a pass, and publishes the sum.  Requests
 * go through the last connection of the export, in its .finalize: this
 * connection is prepared and serves the right export, and in its thread nbdkit
 * enforces the thread model.  Rejected: a context of our own, with
 * nbdkit_next_context_open.  It bypasses the thread model, and can abort nbdkit
 * 1.32.  The pass is canceled if another connection joins.
 *
 * nbdkit's thread, which is in .finalize, claims one range after the other,
 * reads it and observes it.  If the plugin has a latency, this thread alone
 * would mostly wait.  So whenever a read has waited, in any thread, another
 * thread is started, which does the same.  All threads are joined before
 * .finalize returns.  If the plugin does not wait, for instance because a file
 * is in the page cache, nbdkit's thread remains the only one.
 *
 * A thread of our own bypasses nbdkit's locks, so none is started unless the
 * thread model is PARALLEL, in which requests of a connection are concurrent
 * anyway.  nbdkit's filters readahead and scan use their NEXT in threads in the
 * same way.
 *
 * Such a thread belongs to no connection of nbdkit: functions such as
 * nbdkit_export_name fail in it, so a read of the plugin may fail too.  Then
 * its errno value is lost: nbdkit keeps it only for its own threads.  A server
 * that the plugin uses can also fail because too many reads are in flight.  So
 * after an error all our threads end.  Then nbdkit's thread repeats the failed
 * reads, and continues alone.  An error counts only if no other read was in
 * flight.
 *
 * Extents are not queried in parallel, because each reply determines the start
 * of the next query.
 *
 * A pass with OWN_ONLY reads back changes of a connection that disconnects,
 * through this connection, which need not be the last one.
 */

#ifndef NBDKIT_BLKHASH_PASS_H
#define NBDKIT_BLKHASH_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include <nbdkit-filter.h>

#include "blkhash/block-set.h"

struct blkhash_leaves;
struct conn;
struct export;
struct strata;

struct pass {
  nbdkit_next *next;
  struct conn *conn;
  struct export *export;
  struct blkhash_leaves *leaves;
  uint64_t joins;               /* export->joins at the start */
  uint64_t changes;             /* disk->changes before the leaves are folded */
  uint64_t logged;              /* disk->logged at that time */
  bool saved;                   /* the pass owns the new file of manifest_fold,
                                 * and must call manifest_end */
  bool own_only;                /* read only the changes by CONN that no flush
                                 * has made visible to other connections, see
                                 * visibility_own */
  const struct strata *sample;  /* an audit: read the parts of the disk that
                                 * are in this sample; NULL: read the missing
                                 * ranges */
  uint64_t sample_unit;         /* size of such a part (a unit), bytes */
};

/* Returns true if the export has no client any more, and no connection has
 * joined it since the start of P.  The connection of P does not count: its
 * client has disconnected.
 */
bool pass_is_last_locked (const struct pass *p);

/* Why a pass must stop.  These are negative, because pass_read can also return
 * an errno value.
 */
enum {
  PASS_CANCELED = -1,           /* another connection has joined, or the export
                                 * is broken, or its disk is mixed */
  PASS_STALE = -2               /* other connections changed the disk, and CONN
                                 * might not see the changes */
};

/* Returns PASS_CANCELED or PASS_STALE if the pass must stop, otherwise 0. */
int pass_why_stop (const struct pass *p);

/* Returns the number of bytes that are missing in LEAVES. */
uint64_t pass_missing (struct blkhash_leaves *leaves);

/* Query the extents of the missing ranges, and add the extents that are zero to
 * the leaf table.  If the plugin cannot report extents, or fails, the remaining
 * ranges stay missing.
 */
void pass_query_extents (const struct pass *p);

/* Returns true if any byte that this pass must read is hidden: a read of the
 * byte by this connection would not prove its content.
 */
bool pass_is_hidden (const struct pass *p);

/* If the table of the export began with a manifest, choose the units to audit:
 * set *SAMPLE, p->sample (to SAMPLE) and p->sample_unit.  When pass_read reads
 * these units, they are compared with the leaf table.
 */
enum pass_sample {
  SAMPLE_CHOSEN,
  SAMPLE_NONE,                  /* there is nothing to audit */
  SAMPLE_FAILED                 /* the system has no random numbers */
};
enum pass_sample pass_choose_sample (struct pass *p, struct strata *sample);

/* Set whether nbdkit's thread model is PARALLEL.  Must be called before the
 * first connection is opened.
 */
void pass_read_set_parallel (bool parallel);

/* Read and observe the ranges that the pass needs.  MISSING is the total size
 * of these ranges in bytes, for debug messages; it is not used if own_only is
 * set in P.  Returns 0; a positive errno value if a read failed, whose range
 * is stored in *FAILED, or if there was no memory, and *FAILED is empty; or
 * PASS_CANCELED or PASS_STALE if the pass had to stop.  When the function
 * returns, no read is in flight.
 */
int pass_read (const struct pass *p, uint64_t missing,
               struct byte_range *failed);

#endif /* NBDKIT_BLKHASH_PASS_H */
