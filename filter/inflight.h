/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests in flight, and their tainted parts.
 *
 * A request is a read (pread, extents) or a change (pwrite, zero, trim).  If a
 * change and another request access the same bytes at the same time, their
 * order is unknown: these bytes are tainted in both requests, and their content
 * is not used.  Reads do not taint each other.
 *
 * Not thread-safe: the caller holds exports_lock, except where noted.
 */

#ifndef NBDKIT_BLKHASH_INFLIGHT_H
#define NBDKIT_BLKHASH_INFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "block-set.h"

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
   * visibility.c).  In a change, the bytes over which a flush of another
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

#endif /* NBDKIT_BLKHASH_INFLIGHT_H */
