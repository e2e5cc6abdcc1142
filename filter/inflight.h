/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests in flight, and which of them cannot be believed.
 *
 * A request is a read, which learns what is on the disk (pread, an extents
 * reply), or a change (a write, zero or trim).  When a change overlaps another
 * request in time and place, nobody knows which came first: both are tainted
 * there.  Two reads do not disturb each other.
 *
 * It knows nothing of exports and of hashing.  Its user holds a lock.
 */

#ifndef NBDKIT_BLKHASH_INFLIGHT_H
#define NBDKIT_BLKHASH_INFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

struct request {
  struct request *prev, *next;
  bool change;                  /* else a read */
  bool listed;                  /* it is in flight */
  bool ignored;                 /* a read of which nothing can be learnt */
  uint64_t offset, end;         /* bytes; END is exclusive */
  uint64_t taint, taint_end;    /* the tainted part; empty if they are equal */
  uint64_t hidden, hidden_end;  /* of a read, what it proves nothing of; of a
                                 * change, what a flush of another connection
                                 * may have replaced; empty if they are equal */
  const void *by;               /* the connection */
  bool tainted;                 /* it is not empty; atomic, never reset */
};

struct inflight {
  struct request *reads, *changes;
};

/* From here on REQUEST is in flight; it belongs to the list until it ends. */
void inflight_begin (struct inflight *inflight, struct request *request,
                     bool change, uint64_t offset, uint64_t len);
void inflight_end (struct inflight *inflight, struct request *request);

/* Of the change REQUEST another connection may have replaced this range. */
void inflight_replaced (struct request *request, uint64_t offset, uint64_t end);

/* Taint all requests of a connection. */
void inflight_taint_by (struct inflight *inflight, const void *by);

/* Taint what reads in flight have of this range. */
void inflight_taint_reads (struct inflight *inflight,
                           uint64_t offset, uint64_t end);

/* Is a part of it tainted by now?  Needs no lock. */
bool inflight_is_tainted (const struct request *request);

#endif /* NBDKIT_BLKHASH_INFLIGHT_H */
