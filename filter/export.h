/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of each export, from the requests that pass by.
 *
 * All requests between exports_open and exports_leave go through learn_* and
 * change_*.  Nothing here calls the plugin, and nothing here can fail a
 * request: what goes wrong with hashing only means that there is no sum.
 */

#ifndef NBDKIT_BLKHASH_EXPORT_H
#define NBDKIT_BLKHASH_EXPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "inflight.h"
#include "report.h"

struct blkhash_leaves;
struct nbdkit_extents;

struct export {
  struct export *next;
  char *name;
  struct report_line line;

  /* All below is protected by exports_lock; the leaf table has its own lock,
   * but is only replaced when nobody uses it.
   */
  struct blkhash_leaves *leaves;
  uint64_t size;                /* bytes */
  const char *broken;           /* why there can be no sum, or NULL */
  unsigned conns;               /* connections open */
  uint64_t opens;               /* connections ever opened */
  bool finishing;               /* a thread is in finish() */
  uint64_t changes;             /* requests that changed it, by any name */
  struct inflight inflight;     /* if exports are distinct disks */
  bool published;               /* the report has its sum */
  bool written;                 /* clients changed it since the last sum */
  uint64_t contradictions;      /* of the table, when we looked last */
  uint64_t bytes_read;          /* by clients, since the last sum */
};

/* A connection. */
struct conn {
  struct export *export;        /* NULL: it is not watched */
  bool multi_conn;              /* it sees what other connections change */
  bool open;                    /* counted in export->conns */
  bool last_failed;             /* the request that ended last; atomic */
  uint64_t changes_at_open, own_changes;
};

extern pthread_mutex_t exports_lock;

/* A connection to the export NAME of SIZE bytes.  One that cannot be watched
 * (no memory, too many names) works all the same.
 */
void exports_open (struct conn *conn, const char *name, uint64_t size,
                   bool multi_conn);

/* The connection ends.  True if it was the last of its export: then it alone
 * can finish, until exports_finished.  Waits for one that is giving up.
 */
bool exports_leave (struct conn *conn);
void exports_finished (struct conn *conn);

/* A look at the export: begin before the plugin is asked, then tell what it
 * found, then end.  A connection that has left can still look, one last time.
 *
 * Of extents that are ZERO the content is known; the list can be longer than
 * what was asked for, and only its first one counts if FIRST_ONLY.
 */
void learn_begin (struct conn *conn, struct request *request,
                  uint64_t offset, uint64_t len);
void learn_data (struct conn *conn, const struct request *request,
                 const void *buf);
void learn_extents (struct conn *conn, const struct request *request,
                    const struct nbdkit_extents *extents, bool first_only);
void learn_end (struct conn *conn, struct request *request);

/* A client read LEN bytes. */
void count_read (struct conn *conn, uint64_t len);

/* A change: begin before the plugin is asked, and end when it is done.  CHANGE
 * says what is there now, as far as anybody knows.
 */
enum change {
  CHANGE_UNKNOWN,               /* a trim, or an error */
  CHANGE_DATA,                  /* what is in BUF */
  CHANGE_ZERO,
};

void change_begin (struct conn *conn, struct request *request,
                   uint64_t offset, uint64_t len);
void change_end (struct conn *conn, struct request *request,
                 enum change change, const void *buf);

/* Call FN with each export.  There are no connections any more. */
void exports_foreach (void (*fn) (struct export *export));
void exports_free (void);

#endif /* NBDKIT_BLKHASH_EXPORT_H */
