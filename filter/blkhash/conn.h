/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections to exports: which exports are in use, and which client
 * disconnects last.
 *
 * A connection is OPENING until .prepare, PREPARED until its first request,
 * JOINED until .finalize or .close, and then DISCONNECTED.  A flush does not
 * count as a request here.  While the connection is JOINED, it counts as a
 * client of the export.  A connection without requests can join only in
 * .finalize (see disconnect_locked).  A connection that ends during the
 * handshake, such as that of a port scan, never joins, because nbdkit calls
 * .close for it, but not .finalize.  So it does not delay or cancel the sum of
 * the export.
 *
 * Called from several threads at the same time, even for one connection:
 * nbdkit's threads, and those of pass.c.
 */

#ifndef NBDKIT_BLKHASH_CONN_H
#define NBDKIT_BLKHASH_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash/export.h"

/* A connection.  All members are protected by exports_lock, unless they are set
 * once or atomic.  EXPORT does not change after the first request, so it is
 * then read without the lock.  If EXPORT is not NULL, this is also true of
 * MULTI_CONN: only attach_disk_locked changes it, and only while DISK is NULL.
 */
struct conn {
  const char *name;             /* name of the export; set once */
  bool tls;                     /* set once */
  uint64_t number;              /* 1, 2 ... in the order of conn_prepare */
  uint64_t size;                /* bytes */
  bool multi_conn;              /* this connection sees the changes that others
                                 * flushed; see also attach_disk_locked */
  enum { CONN_OPENING, CONN_PREPARED, CONN_JOINED, CONN_DISCONNECTED } state;
  struct export *export;        /* NULL: see conn_join_locked */
  struct disk *disk;            /* NULL if exports are distinct disks and no
                                 * client has used this name yet */
  uint64_t own_changes;         /* how many of disk->changes are its own */
  uint64_t seen;                /* how many of disk->changes were made by other
                                 * connections and are visible to this one */
  struct unflushed unflushed;   /* its entry in disk->visibility */
  int join_error;               /* errno value if it could not join an export */
  bool last_failed;             /* the last request failed; atomic */
};

/* Initialize CONN for the export NAME.  NAME must outlive CONN.  Call this
 * before the plugin opens the connection: all changes after this call count as
 * changes that the connection might not see.
 */
void conn_init (struct conn *conn, const char *name, bool tls);

/* Called from .prepare; requests can follow. */
void conn_prepare (struct conn *conn, uint64_t size, bool multi_conn);

/* Called at each request except a flush.  The first one makes the connection a
 * client of the export.  If the connection gets no export (no memory, or too
 * many names), the request continues without one.  Returns true if the caller
 * must call conn_join_end after it has released the lock; conn_join_end logs
 * errors and waits for withdrawals of sums.
 */
bool conn_join_locked (struct conn *conn);
void conn_join_end (const struct conn *conn);

/* Called from .finalize, when the client disconnects.  Returns true if the
 * connection was the last one of the export, and must finish the export: then
 * the caller calls finish_export (see finish.h), and after that
 * conn_finish_end.  Until then no other thread finishes the export.  If an
 * earlier connection is still finishing the export, conn_disconnect waits for
 * it.
 */
bool conn_disconnect (struct conn *conn);
void conn_finish_end (struct conn *conn);

/* Called from .close, whether or not conn_disconnect was called before; and
 * from .open if the plugin fails to open.
 */
void conn_close (struct conn *conn);

/* conn_is_behind_locked returns true if other connections changed the disk
 * after this connection was opened or last flushed.  conn_is_stale_locked
 * returns true if, in addition, this connection might not see these changes
 * even after the other connections flushed, because the plugin does not
 * advertise multi-conn.
 */
bool conn_is_behind_locked (const struct conn *conn);
bool conn_is_stale_locked (const struct conn *conn);

/* Returns true if the content of requests of this connection is currently not
 * hashed: it has no export, the export is broken, its disk is mixed, or the
 * connection is stale.
 */
bool conn_is_ignored_locked (const struct conn *conn);

/* A flush of the connection.  Call conn_flush_begin before the plugin flushes,
 * and conn_flush_end afterwards; OK is set if the flush succeeded.
 */
struct flush {
  uint64_t foreign;             /* changes by other connections before the flush
                                 * began; seen if it succeeds */
  uint64_t changes;             /* disk->changes when the flush began */
};
void conn_flush_begin (struct conn *conn, struct flush *flush);
void conn_flush_end (struct conn *conn, const struct flush *flush, bool ok);

#endif /* NBDKIT_BLKHASH_CONN_H */
