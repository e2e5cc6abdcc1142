/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections to exports.
 *
 * A connection counts from its first request on.  One that opens and does
 * nothing, as a port scan or a handshake that fails does, for which nbdkit
 * calls close and not finalize, disturbs nobody.
 */

#ifndef NBDKIT_BLKHASH_CONN_H
#define NBDKIT_BLKHASH_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "export.h"

/* A connection.  What is not said to be set once is protected by
 * exports_lock.
 */
struct conn {
  const char *name;             /* of the export; set once */
  bool tls;                     /* set once */
  uint64_t number;              /* in the order of conn_prepare */
  uint64_t size;                /* bytes */
  bool multi_conn;              /* sees what others changed and flushed */
  enum { CONN_OPENING, CONN_IDLE, CONN_JOINED, CONN_DISCONNECTED } state;
  struct export *export;        /* NULL: not joined, or not watched */
  struct disk *disk;            /* NULL: nothing is known of it */
  uint64_t own_changes;         /* of disk->changes those by this */
  uint64_t seen;                /* of those by others, that it can see */
  struct unflushed unflushed;   /* of the disk's visibility */
  int unwatched;                /* errno: why it joined no export */
  bool last_failed;             /* the request that ended last; atomic */
};

/* CONN will be a connection to the export NAME, which must outlive it: before
 * the plugin is asked to open, since what is changed from then on it may not
 * see.
 */
void conn_init (struct conn *conn, const char *name, bool tls);

/* It can do requests now. */
void conn_prepare (struct conn *conn, uint64_t size, bool multi_conn);

/* It does one: from now on it counts.  An export that cannot be watched (no
 * memory, too many names) works all the same, and so does a connection that is
 * shut out.  True if there is something to do without the lock: conn_joined,
 * which waits and tells.
 */
bool conn_join_locked (struct conn *conn);
void conn_joined (const struct conn *conn);

/* Is it a connection without TLS to a disk that has, or had, connections with
 * TLS?  A filter below, such as nbdkit's tls-fallback, can show clients without
 * TLS another disk, so what these see proves nothing about what those with TLS
 * see, and they must not touch the result of those.  What they change counts
 * all the same: without such a filter it is one disk.
 */
bool conn_is_shut_out_locked (const struct conn *conn);

/* The connection ends as it should.  True if it was the last of its export:
 * then it alone can finish, until conn_finished.  Waits for one that is giving
 * up.
 */
bool conn_disconnect (struct conn *conn);
void conn_finished (struct conn *conn);

/* It is gone without having left, or has left. */
void conn_close (struct conn *conn);

/* Did others change the disk since the connection was opened or flushed?
 * Stale: so that it may not see that, without multi-conn, whatever they
 * flushed.
 */
bool conn_is_behind_locked (const struct conn *conn);
bool conn_is_stale_locked (const struct conn *conn);

/* Is nothing to be learnt from what goes through it now? */
bool conn_is_ignored_locked (const struct conn *conn);

/* A flush of the connection: begin before the plugin is asked, and tell then
 * whether it worked.
 */
struct flush {
  uint64_t foreign;             /* changes by others that it makes visible */
};
void conn_flush_begin (struct conn *conn, struct flush *flush);
void conn_flush_end (struct conn *conn, const struct flush *flush, bool ok);

#endif /* NBDKIT_BLKHASH_CONN_H */
