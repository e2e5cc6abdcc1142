/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use, by name, and the connections to them.
 *
 * A connection counts from its first request on.  One that opens and does
 * nothing, as a port scan or a handshake that fails does, for which nbdkit
 * calls close and not finalize, disturbs nobody.
 *
 * Locks, in the order in which they are taken: exports_lock, that of a leaf
 * table, that of the report.  No request waits for a file or for the plugin
 * with any of them.
 */

#ifndef NBDKIT_BLKHASH_EXPORT_H
#define NBDKIT_BLKHASH_EXPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "disk.h"
#include "report.h"

struct blkhash_leaves;

extern pthread_mutex_t exports_lock;

struct export {
  struct export *next;          /* in the order in which they came */
  char *name;
  struct report_line line;      /* of the report */

  /* All below is protected by exports_lock; the leaf table has its own lock,
   * but is only replaced when nobody uses it.
   */
  struct disk *disk;
  struct disk own_disk;         /* if exports are distinct disks */
  uint64_t log_seen;            /* of the disk's changes by other names */
  struct blkhash_leaves *leaves;
  uint64_t size;                /* bytes */
  const char *broken;           /* why there can be no sum, or NULL */
  unsigned conns;               /* connections that are open */
  uint64_t joins;               /* connections that ever counted */
  uint64_t newest;              /* the highest number of these */
  bool finishing;               /* a thread is in finish() */
  bool published;               /* the report has its sum; it is in ... */
  struct export *next_published, **link_published; /* ... disk->published */
  bool written;                 /* clients changed it since the last sum */
  uint64_t contradictions;      /* of the table, when we looked last */
  uint64_t bytes_read;          /* by clients, since the last sum */
};

/* A connection.  What is not said to be set once is protected by
 * exports_lock.
 */
struct conn {
  const char *name;             /* of the export; set once */
  uint64_t number;              /* in the order of conn_prepare */
  uint64_t size;                /* bytes */
  bool multi_conn;              /* sees what others change */
  enum { CONN_OPENING, CONN_IDLE, CONN_JOINED, CONN_LEFT } state;
  struct export *export;        /* NULL: not joined, or not watched */
  struct disk *disk;            /* NULL: nothing is known of it */
  uint64_t own_changes;         /* of disk->changes those by this */
  uint64_t seen;                /* of those by others, that it can see */
  bool last_failed;             /* the request that ended last; atomic */
};

/* CONN will be a connection to the export NAME, which must outlive it: before
 * the plugin is asked to open, since what is changed from then on it may not
 * see.
 */
void conn_init (struct conn *conn, const char *name);

/* It can do requests now. */
void conn_prepare (struct conn *conn, uint64_t size, bool multi_conn);

/* It does one: from now on it counts.  An export that cannot be watched (no
 * memory, too many names) works all the same.  True if a sum was withdrawn.
 */
bool conn_join_locked (struct conn *conn);

/* The connection ends as it should.  True if it was the last of its export:
 * then it alone can finish, until conn_finished.  Waits for one that is giving
 * up.
 */
bool conn_leave (struct conn *conn);
void conn_finished (struct conn *conn);

/* It is gone without having left, or has left. */
void conn_close (struct conn *conn);

/* Changes of the disk by other connections.  Did any happen that it may not
 * see?
 */
uint64_t conn_foreign_changes (struct conn *conn);
bool conn_is_stale_locked (const struct conn *conn);

/* It sees all changes by others of which there were FOREIGN. */
void conn_refreshed (struct conn *conn, uint64_t foreign);

/* What a client gets that asks for no name is the export NAME. */
void exports_set_default (const char *name);

/* How the export is called in the report. */
const char *export_shown_name_locked (const struct export *export);

/* Let the table forget what was changed by other names. */
void export_catch_up_locked (struct export *export);

/* There is a sum, MD of LEN bytes. */
void export_publish_locked (struct export *export,
                            const unsigned char *md, size_t len);

/* The report has no sum any more.  False if it had none: all is left as it is
 * then.
 */
bool export_withdraw_locked (struct export *export);

/* DISK is changed through BY: neither that nor any other name has a sum.  Takes
 * as long as there are names that had one, however many others there are.
 */
void exports_withdraw_locked (struct disk *disk, struct export *by);

/* Call FN with each export.  There are no connections any more. */
void exports_foreach_locked (void (*fn) (struct export *export));
void exports_free (void);

#endif /* NBDKIT_BLKHASH_EXPORT_H */
