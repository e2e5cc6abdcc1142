/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Changes of a disk that other connections might not see yet.
 *
 * With multi-conn, NBD guarantees that other connections see a change after a
 * flush of the connection that made it.  Without multi-conn, the filter assumes
 * that another connection sees the change once that other connection, too, has
 * been flushed.
 *
 * A plugin, or a filter below, may cache the changes by a connection until the
 * connection is flushed or closed.  Until then the connection sees its own
 * changes, and other connections may see the old content.  So each connection
 * has a set of the blocks that it changed and did not flush.  README.md has the
 * states of a block as tables; test-visibility.c runs each cell of them.  While
 * a block is in such a set:
 *
 * - the block is hidden: a read of the block by another connection proves
 *   nothing;
 * - a change of the block by another connection is a conflict: it is unknown
 *   which of the two changes reaches the disk last.  This is true even if a
 *   flush of the first change ends before the second change ends, see
 *   disk_flush_ended.
 *
 * A flush that succeeds removes the changes that were made before the flush
 * began.  If a flush fails, the changes in the set may be lost, and so may
 * changes that were made while the flush was in flight.  Then, until a later
 * flush by this connection succeeds, no read proves the content of the changed
 * blocks, not even a read by this connection.
 *
 * A trim stays hidden after a flush, until the block is overwritten; closing
 * the connection ends this only for connections that are opened later, see
 * below.  The reason is that nbdkit's cache filter passes on all trims to the
 * plugin, but a flush only if the cache has data to write back.  If a
 * connection that does not see the trim modifies a part of the block, the cache
 * does a read-modify-write, and writes back the rest of the block as that
 * connection sees it; modify.c invalidates the hash of that rest.
 *
 * Blocks can still be hidden when the connection that changed them is closed:
 * trimmed blocks, or all changed blocks if the plugin cannot flush, a flush
 * failed, or there was no .finalize, in which the filter flushes.  These blocks
 * reach the disk when the plugin closes the connection, which is after the
 * filter's .close.  So they stay hidden from connections that were opened
 * before the filter's .close.  A connection that is opened between the two
 * callbacks is not detected, because a filter has no callback after the
 * plugin's .close.  The blocks of all closed connections are added to one set,
 * which is kept as long as such an older connection is open.
 *
 * The blocks of all these sets have a size of at least 64 KiB (params.unit),
 * whatever the block size of the hash.  The reason is that caches and filters
 * below, such as nbdkit's blocksize filter, do a read-modify-write of blocks of
 * their own.  So around a change they may write old content to the disk.  If a
 * filter below, such as nbdkit's offset filter, serves only a part of its disk,
 * the blocks of the layers below that filter can begin at any byte of the
 * export.  In that case all bytes within a distance of less than params.unit
 * from a change count as changed.
 *
 * Rejected: counting changes, as conn.c does for plugins without multi-conn.
 * With several connections that write, each connection would always be behind
 * the others, and everything would have to be read back.
 *
 * Ranges are in bytes, END is exclusive.  Not thread-safe: the caller holds
 * exports_lock.
 */

#ifndef NBDKIT_BLKHASH_VISIBILITY_H
#define NBDKIT_BLKHASH_VISIBILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash/block-set.h"

/* Changes by a connection that other connections might not see.  If all members
 * are zero, the connection is not open.
 */
struct unflushed {
  struct unflushed *next, **link; /* in visibility.conns if LINK is not NULL */
  uint64_t opened;              /* its number in the order of opening, or 0 */
  struct block_set changed;     /* blocks that were changed after the last flush
                                 * began, or whose changes a failed flush may
                                 * have lost; flushes that overlap count as
                                 * one */
  struct block_set flushing;    /* blocks that were changed before the flush in
                                 * flight began */
  struct block_set trimmed;     /* blocks that were trimmed since the connection
                                 * was opened, and not overwritten since */
  unsigned nr_flushes;          /* number of flushes in flight */
  bool flush_failed;            /* one of the flushes that overlap failed */
  bool failed;                  /* the last flush failed */
};

/* The connections of a disk.  If all members are zero, there are none. */
struct visibility {
  struct unflushed *conns;      /* list of open connections with changes */
  struct unflushed closed;      /* changed and trimmed blocks of closed
                                 * connections, as if one connection had them.
                                 * They are hidden from older connections: those
                                 * that were already open when the last of the
                                 * closed ones was closed, whose OPENED is at
                                 * most CLOSED.opened */
  unsigned nr_open;             /* number of open connections */
  unsigned nr_older;            /* how many of these are older connections */
  uint64_t last_opened;         /* OPENED of the newest connection ever */
  bool trims;                   /* there was ever a trim */
};

/* Call visibility_open before the plugin opens the connection, and
 * visibility_close after the last request of the connection.
 */
void visibility_open (struct visibility *v, struct unflushed *u);
void visibility_close (struct visibility *v, struct unflushed *u);

/* Record that the connection changed a range.  TRIM is set if it was a trim. */
void visibility_change (struct visibility *v, struct unflushed *u,
                        uint64_t offset, uint64_t end, bool trim);

/* Returns true if no other open connection has ever changed the disk, and no
 * change by a closed connection is hidden from this one.  This is the usual
 * case, and is found without a look-up of blocks.
 */
static inline bool
visibility_is_alone (const struct visibility *v, const struct unflushed *u)
{
  return (!v->conns || (v->conns == u && !u->next)) &&
    u->opened > v->closed.opened;
}

/* Returns true if another connection has an unflushed change of the block of
 * the byte at OFFSET.  If this connection changes the block too, it is unknown
 * which of the two changes reaches the disk last.  Sets *RUN_END to the end of
 * the range to which the same answer applies, at most END.
 */
bool visibility_conflict (struct visibility *v, const struct unflushed *u,
                          uint64_t offset, uint64_t end, uint64_t *run_end);

/* Returns true if the byte at OFFSET is hidden (see above): a read of the byte
 * through this connection proves nothing.  Sets *RUN_END as above.
 */
bool visibility_hidden (struct visibility *v, struct unflushed *u,
                        uint64_t offset, uint64_t end, uint64_t *run_end);

/* Called after the last flush of a connection.  Returns true if the connection
 * changed the byte at OFFSET, and no flush has made this change visible to
 * other connections.  If the last flush failed, only trims count.  Sets
 * *RUN_END as above.
 */
bool visibility_own (struct unflushed *u,
                     uint64_t offset, uint64_t end, uint64_t *run_end);

/* Record that the range was overwritten, so that earlier trims of it do not
 * matter any more.
 */
void visibility_overwrite (struct visibility *v, uint64_t offset, uint64_t end);

/* Called when a flush of the connection begins, and when it ends.
 * visibility_flush_end returns true if the flush may have changed the content
 * that other connections see.  If the flush failed, FN is called with each
 * range of changes that may be lost.
 */
void visibility_flush_begin (struct unflushed *u);
bool visibility_flush_end (struct unflushed *u, bool ok,
                           void (*fn) (void *opaque, uint64_t offset,
                                       uint64_t end),
                           void *opaque);

/* Returns true if a flush of this connection that is in flight may write the
 * byte at OFFSET to the disk.  Sets *RUN_END as above.
 */
bool visibility_flushing (struct unflushed *u,
                          uint64_t offset, uint64_t end, uint64_t *run_end);

/* Returns true if the connection has changes that it did not flush. */
bool visibility_needs_flush (const struct unflushed *u);

/* Extend a range to whole blocks of the layers below. */
void visibility_round (uint64_t *offset, uint64_t *end);

void visibility_destroy (struct visibility *v);

#endif /* NBDKIT_BLKHASH_VISIBILITY_H */
