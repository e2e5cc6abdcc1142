/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which changes of a disk are visible to other connections than the one that
 * made them.
 *
 * NBD promises that a change is visible to other connections after a flush,
 * with multi-conn too; without multi-conn it is after a flush of the connection
 * that made it, and one of the connection that reads.  See visibility.c for
 * what follows from that.
 *
 * Ranges are in bytes, END is exclusive.  The caller holds a lock.
 */

#ifndef NBDKIT_BLKHASH_VISIBILITY_H
#define NBDKIT_BLKHASH_VISIBILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "block-set.h"

/* What a connection changed that others may not see.  Zero-initialised it is
 * that of a connection that is not open.
 */
struct unflushed {
  struct unflushed *next, **link; /* in the list; LINK is NULL if it is not */
  uint64_t opened;              /* its number, in the order of opening, or 0 */
  bool tls;
  struct block_set changed;     /* since the last flush began */
  struct block_set flushing;    /* before the flushes in flight began */
  struct block_set trimmed;     /* since it was opened */
  unsigned nr_flushes;          /* in flight */
  bool flush_failed;            /* one of them, or that overlapped them */
  bool failed;                  /* the last flush */
};

/* What connections changed that have left; hidden from those that were opened
 * up to sets.opened.
 */
struct closed {
  struct unflushed sets;
  unsigned nr_open;             /* connections */
  unsigned nr_older;            /* of these, opened up to sets.opened */
};

/* The connections of a disk.  Zero-initialised there are none. */
struct visibility {
  struct unflushed *conns;      /* those that changed something */
  /* As it is hidden from connections without TLS, and with: so those without do
   * not keep anything hidden from those with TLS by staying open.
   */
  struct closed closed[2];
  uint64_t last_opened;
  bool trims;                   /* something was trimmed, ever */
};

/* A connection opens, before the plugin is asked to; and leaves, after its last
 * request.
 */
void visibility_open (struct visibility *v, struct unflushed *u, bool tls);
void visibility_close (struct visibility *v, struct unflushed *u);

/* It changed a range; TRIM: by a trim. */
void visibility_change (struct visibility *v, struct unflushed *u,
                        uint64_t offset, uint64_t end, bool trim);

/* Did no other connection leave anything behind that is hidden from this one?
 * Mostly that is so, and no block need be looked up.
 */
static inline bool
visibility_is_alone (const struct visibility *v, const struct unflushed *u)
{
  return (!v->conns || (v->conns == u && !u->next)) &&
    u->opened > v->closed[u->tls].sets.opened;
}

/* Did another connection change the byte at OFFSET too, so that which of the
 * two changes reaches the disk last is not known?  *RUN_END is where the answer
 * ends to be the same, at most END.
 */
bool visibility_conflict (struct visibility *v, const struct unflushed *u,
                          uint64_t offset, uint64_t end, uint64_t *run_end);

/* Does a read of the byte at OFFSET through this connection prove nothing?
 * *RUN_END as above.
 */
bool visibility_hidden (struct visibility *v, struct unflushed *u,
                        uint64_t offset, uint64_t end, uint64_t *run_end);

/* Is the byte at OFFSET one that other connections cannot be made to see by a
 * flush?  *RUN_END as above.
 */
bool visibility_own (struct unflushed *u,
                     uint64_t offset, uint64_t end, uint64_t *run_end);

/* The range was overwritten, which makes an earlier trim of it irrelevant. */
void visibility_overwrite (struct visibility *v, uint64_t offset, uint64_t end);

/* A flush of the connection begins, and ends.  end returns whether that changed
 * what other connections may see.  If it failed the caller is told of what may
 * be lost, by FN.
 */
void visibility_flush_begin (struct unflushed *u);
bool visibility_flush_end (struct unflushed *u, bool ok,
                           void (*fn) (void *opaque, uint64_t offset,
                                       uint64_t end),
                           void *opaque);

/* Does the flush in flight bring the byte at OFFSET to the disk?  *RUN_END as
 * above.
 */
bool visibility_flushing (struct unflushed *u,
                          uint64_t offset, uint64_t end, uint64_t *run_end);

/* Is there anything that a flush would make visible? */
bool visibility_needs_flush (const struct unflushed *u);

/* The smallest range around one that is judged as a whole. */
void visibility_round (uint64_t *offset, uint64_t *end);

void visibility_destroy (struct visibility *v);

#endif /* NBDKIT_BLKHASH_VISIBILITY_H */
