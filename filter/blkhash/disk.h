/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk: the state that all its exports share.  All export names have the same
 * disk, unless blkhash-distinct-exports is set.
 *
 * The cost of a change does not depend on the number of exports: the change is
 * appended to a log, and each export reads the new entries of the log before it
 * observes a request or publishes a sum.  If entries were overwritten before
 * an export read them, the export invalidates everything.
 *
 * Not thread-safe: the caller holds exports_lock, except where noted.  These
 * functions do not hash, and do not call the plugin.
 */

#ifndef NBDKIT_BLKHASH_DISK_H
#define NBDKIT_BLKHASH_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash/block-set.h"
#include "blkhash/claims.h"
#include "blkhash/visibility.h"

/* ---- Requests in flight, and their tainted parts ----
 *
 * A request is a read (pread, extents) or a change (pwrite, zero, trim).  If a
 * change and another request access the same bytes at the same time, their
 * order is unknown: these bytes are tainted in both requests, and their content
 * is not used.  Reads do not taint each other.
 */

#define REQUEST_DATA 4          /* maximum number of ranges */

struct request {
  struct request *prev, *next;
  bool change;                  /* else a read */
  bool tracked;                 /* inflight_begin was called */
  bool ignored;                 /* its content proves nothing */
  uint64_t offset, end;         /* bytes; END is exclusive */
  uint64_t taint, taint_end;    /* the tainted part; empty if these are equal */
  /* The part whose content this request does not prove; empty if these are
   * equal.  In a read, from the first to the last byte that is hidden (see
   * visibility.h).  In a change, the bytes over which a flush of another
   * connection may have written earlier changes.
   */
  uint64_t unproven, unproven_end;
  const void *by;               /* struct unflushed of its connection; set by
                                 * the caller after inflight_begin */
  /* For observe.c: the content that was read, and the first ranges of it with
   * data; and whether the request has reported zeros.
   */
  const unsigned char *buf;
  struct byte_range data[REQUEST_DATA];
  unsigned nr_data;
  bool claims;
  bool tainted;                 /* taint is not empty; atomic, never reset */
};

struct inflight {
  struct request *reads, *changes;
};

/* Initialize REQUEST.  Where it overlaps a request in flight, taint both,
 * unless both are reads.  REQUEST is in flight until inflight_end.
 */
void inflight_begin (struct inflight *inflight, struct request *request,
                     bool change, uint64_t offset, uint64_t len);
void inflight_end (struct inflight *inflight, struct request *request);

/* Extend the unproven part of REQUEST to include this range, and all bytes in
 * between.
 */
void inflight_add_unproven (struct request *request,
                            uint64_t offset, uint64_t end);

/* Taint all requests in flight of the connection BY. */
void inflight_taint_by (struct inflight *inflight, const void *by);

/* Taint the parts of reads in flight that overlap this range. */
void inflight_taint_reads (struct inflight *inflight,
                           uint64_t offset, uint64_t end);

/* Returns true if a part of the request is tainted.  Needs no lock. */
bool inflight_is_tainted (const struct request *request);

/* ---- The disk ---- */

/* If all members are zero, the disk has no exports. */
struct disk {
  unsigned exports;             /* number of exports of the disk */
  struct export *published;     /* list of exports that have a sum */
  bool used_by[2];              /* clients without TLS made requests; clients
                                 * with TLS did */
  bool finished_by[2];          /* the last client of an export was of this
                                 * kind; even if it made no request, there can
                                 * be a sum, of zeros */
  uint64_t changes;             /* counts each change twice, when it begins and
                                 * when it ends; conn_flush_end also counts some
                                 * flushes */
  unsigned changing;            /* number of changes in flight */
  uint64_t last_change;         /* CHANGES at the end of the last change */
  uint64_t flushed;             /* the highest CHANGES at the beginning of any
                                 * flush that succeeded */
  bool flush_failed;            /* a flush failed: changes may be lost, even if
                                 * a later flush succeeds */
  struct inflight inflight;
  struct visibility visibility;
  struct block_set changed;     /* with blkhash-update: blocks that may no
                                 * longer have the content of the baseline (see
                                 * export.h) */
  struct claims claims;         /* which extents prove that the disk is zero */

  /* A ring buffer of the last changes, for exports that did not make them. */
  struct logged_change *log;    /* NULL before the first change */
  uint64_t logged;              /* number of changes ever appended */
  bool may_extend;              /* the last entry may be extended, because no
                                 * export other than that of the change has read
                                 * the entry */
};

/* Called when REQUEST, which modifies the disk, begins, and when it ends.  BY
 * is the export of its connection, or NULL if the connection has none.
 */
void disk_change_begin (struct disk *disk, struct request *request,
                        uint64_t offset, uint64_t len);
void disk_change_end (struct disk *disk, struct request *request,
                      const void *by);

/* Log a change from OFFSET to END.  All exports except BY, or all exports if BY
 * is NULL, invalidate the range when they call disk_catch_up.
 */
void disk_log_change (struct disk *disk, const void *by,
                      uint64_t offset, uint64_t end);

/* Called when a flush of the connection BY has ended, before
 * visibility_flush_end.  The flush may have written earlier changes of BY over
 * changes in flight by other connections: the ranges where it may have done so
 * are marked as unproven in the requests of these changes (see struct request).
 * If the flush failed, the requests of BY in flight are tainted: changes may be
 * lost, and reads might not return the content of the disk.
 */
void disk_flush_ended (struct disk *disk, struct unflushed *by, bool ok);

/* Returns true if no change is in flight, no flush has ever failed, and, if
 * there was any change, a flush that began after the last change has succeeded.
 */
bool disk_is_durable (const struct disk *disk);

/* Returns true if clients with and without TLS have used the disk.  A filter
 * below, such as nbdkit's tls-fallback, can show clients without TLS another
 * disk, so what they read or write proves nothing to the others.
 */
static inline bool
disk_is_mixed (const struct disk *disk)
{
  return disk->used_by[false] && disk->used_by[true];
}

/* Returns true if only clients with TLS, or without, have used the disk so far.
 */
static inline bool
disk_belongs_to (const struct disk *disk, bool tls)
{
  return !disk->used_by[!tls] && (disk->used_by[tls] || disk->finished_by[tls]);
}

/* Set *SEEN to the end of the log, for disk_catch_up. */
void disk_log_position (struct disk *disk, uint64_t *seen);

/* Call FN with each range that exports other than BY changed since *SEEN, and
 * set *SEEN to the end of the log.  If some of the changes are no longer in the
 * log, FN is called once instead, with the range from 0 to UINT64_MAX.
 */
void disk_catch_up (struct disk *disk, const void *by, uint64_t *seen,
                    void (*fn) (void *opaque, uint64_t offset, uint64_t end),
                    void *opaque);

void disk_destroy (struct disk *disk);

#endif /* NBDKIT_BLKHASH_DISK_H */
