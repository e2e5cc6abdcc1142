/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which changes of a disk other connections may not see yet.
 *
 * NBD promises that other connections see a change after a flush: with
 * multi-conn after one of the connection that made it, without multi-conn also
 * after one of the connection that reads.  See visibility.c for the algorithm.
 *
 * Ranges are in bytes, END is exclusive.  Not thread-safe: the caller holds
 * exports_lock.
 */

#ifndef NBDKIT_BLKHASH_VISIBILITY_H
#define NBDKIT_BLKHASH_VISIBILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "block-set.h"

/* Changes of a connection that others may not see.  Zero-initialised the
 * connection is not open.
 */
struct unflushed {
  struct unflushed *next, **link; /* in the list; LINK is NULL if it is not */
  uint64_t opened;              /* its number in the order of opening, or 0 */
  bool tls;
  struct block_set changed;     /* after the last flush began */
  struct block_set flushing;    /* before the flushes in flight began */
  struct block_set trimmed;     /* since it was opened */
  unsigned nr_flushes;          /* in flight */
  bool flush_failed;            /* one of these, or one that overlapped them */
  bool failed;                  /* the last flush failed */
};

/* Changes of closed connections; hidden from connections whose number is
 * sets.opened or less.
 */
struct closed {
  struct unflushed sets;
  unsigned nr_open;             /* open connections */
  unsigned nr_older;            /* of these, numbers up to sets.opened */
};

/* The connections of a disk.  Zero-initialised there are none. */
struct visibility {
  struct unflushed *conns;      /* those with changes */
  /* Hidden from connections without TLS, and with: a connection without TLS
   * that stays open must not keep changes hidden from those with TLS.
   */
  struct closed closed[2];
  uint64_t last_opened;
  bool trims;                   /* there was ever a trim */
};

/* Open before the plugin opens the connection; close after its last request. */
void visibility_open (struct visibility *v, struct unflushed *u, bool tls);
void visibility_close (struct visibility *v, struct unflushed *u);

/* The connection changed a range; TRIM: by a trim. */
void visibility_change (struct visibility *v, struct unflushed *u,
                        uint64_t offset, uint64_t end, bool trim);

/* Is no change of any other connection hidden from this one?  This is the usual
 * case, found without a look-up of blocks.
 */
static inline bool
visibility_is_alone (const struct visibility *v, const struct unflushed *u)
{
  return (!v->conns || (v->conns == u && !u->next)) &&
    u->opened > v->closed[u->tls].sets.opened;
}

/* Has another connection an unflushed change of the byte at OFFSET?  Then it is
 * unknown which change reaches the disk last.  *RUN_END is set to how far the
 * answer holds, at most END.
 */
bool visibility_conflict (struct visibility *v, const struct unflushed *u,
                          uint64_t offset, uint64_t end, uint64_t *run_end);

/* Is the byte at OFFSET hidden: does a read of it through this connection prove
 * nothing?  *RUN_END as above.
 */
bool visibility_hidden (struct visibility *v, struct unflushed *u,
                        uint64_t offset, uint64_t end, uint64_t *run_end);

/* Has this connection changed the byte at OFFSET so that no flush makes it
 * visible to others?  *RUN_END as above.
 */
bool visibility_own (struct unflushed *u,
                     uint64_t offset, uint64_t end, uint64_t *run_end);

/* The range was overwritten, so earlier trims of it do not matter any more. */
void visibility_overwrite (struct visibility *v, uint64_t offset, uint64_t end);

/* A flush of the connection begins, and ends.  end returns whether that changed
 * what other connections may see.  If the flush failed, FN is called with each
 * range of changes that may be lost.
 */
void visibility_flush_begin (struct unflushed *u);
bool visibility_flush_end (struct unflushed *u, bool ok,
                           void (*fn) (void *opaque, uint64_t offset,
                                       uint64_t end),
                           void *opaque);

/* Does a flush in flight write the byte at OFFSET to the disk?  *RUN_END as
 * above.
 */
bool visibility_flushing (struct unflushed *u,
                          uint64_t offset, uint64_t end, uint64_t *run_end);

/* Has the connection changes that it did not flush? */
bool visibility_needs_flush (const struct unflushed *u);

/* Extend a range to whole units. */
void visibility_round (uint64_t *offset, uint64_t *end);

void visibility_destroy (struct visibility *v);

#endif /* NBDKIT_BLKHASH_VISIBILITY_H */
