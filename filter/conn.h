/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections to exports.
 *
 * States: OPENING until .prepare; IDLE until the first request, or .finalize;
 * JOINED, which counts as a client of the export; DISCONNECTED after .finalize
 * or .close.  A connection that makes no request, such as that of a port scan,
 * for which nbdkit calls .close but not .finalize, does not delay or cancel the
 * sum of the export.
 */

#ifndef NBDKIT_BLKHASH_CONN_H
#define NBDKIT_BLKHASH_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "export.h"

/* A connection.  All is protected by exports_lock, unless it is set once or
 * atomic.
 */
struct conn {
  const char *name;             /* of the export; set once */
  bool tls;                     /* set once */
  uint64_t number;              /* in the order of conn_prepare */
  uint64_t size;                /* bytes */
  bool multi_conn;              /* it sees what other connections flushed */
  enum { CONN_OPENING, CONN_IDLE, CONN_JOINED, CONN_DISCONNECTED } state;
  struct export *export;        /* NULL: not joined, or not watched */
  struct disk *disk;            /* NULL: there is none yet for this name */
  uint64_t own_changes;         /* of disk->changes those by this one */
  uint64_t seen;                /* of those by others, how many it sees */
  struct unflushed unflushed;   /* in disk->visibility */
  int unwatched;                /* errno: why it joined no export */
  bool last_failed;             /* the request that ended last; atomic */
};

/* Initialize CONN for the export NAME, which must outlive it.  Call it before
 * the plugin opens the connection, which may not see changes made after that.
 */
void conn_init (struct conn *conn, const char *name, bool tls);

/* From .prepare: requests can follow. */
void conn_prepare (struct conn *conn, uint64_t size, bool multi_conn);

/* Called at each request; the first one makes it a client of the export.
 * Requests also work if the export cannot be watched (no memory, too many
 * names), or if the connection is shut out.  True if the caller must call
 * conn_joined without the lock, which logs errors and waits for withdrawals.
 */
bool conn_join_locked (struct conn *conn);
void conn_joined (const struct conn *conn);

/* Is it a connection without TLS to a disk that has, or had, connections with
 * TLS?  A filter below, such as nbdkit's tls-fallback, can show clients without
 * TLS another disk.  So their reads prove nothing about the disk of clients
 * with TLS, and must not affect its result.  Their changes invalidate all the
 * same: without such a filter it is one disk.
 */
bool conn_is_shut_out_locked (const struct conn *conn);

/* From .finalize: the client disconnects.  True if it was the last one of the
 * export: then the caller finishes the export, and no other thread does until
 * conn_finished.  Waits for an earlier one that is still finishing.
 */
bool conn_disconnect (struct conn *conn);
void conn_finished (struct conn *conn);

/* From .close, with or without conn_disconnect before. */
void conn_close (struct conn *conn);

/* Behind: did others change the disk since the connection was opened or
 * flushed?  Stale: and it may not see that, even if they flushed, because it
 * has no multi-conn.
 */
bool conn_is_behind_locked (const struct conn *conn);
bool conn_is_stale_locked (const struct conn *conn);

/* Does content of its requests prove nothing at present? */
bool conn_is_ignored_locked (const struct conn *conn);

/* A flush of the connection: begin before the plugin flushes; OK: it succeeded.
 */
struct flush {
  uint64_t foreign;             /* changes by others that it makes visible */
};
void conn_flush_begin (struct conn *conn, struct flush *flush);
void conn_flush_end (struct conn *conn, const struct flush *flush, bool ok);

#endif /* NBDKIT_BLKHASH_CONN_H */
