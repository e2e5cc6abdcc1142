/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections to exports.  See conn.h.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "../lib/common/util.h"
#include "blkhash/conn.h"

/* Protected by exports_lock. */
static uint64_t nr_conns;       /* number of connections ever prepared */
static pthread_cond_t not_finishing = PTHREAD_COND_INITIALIZER;

void
conn_init (struct conn *conn, const char *name, bool tls)
{
  SCOPED_LOCK (&exports_lock);

  *conn = (struct conn) { .name = name, .tls = tls };
  conn->disk = exports_disk_locked (name);
  if (conn->disk) {
    conn->seen = conn->disk->changes;
    visibility_open (&conn->disk->visibility, &conn->unflushed);
  }
}

void
conn_prepare (struct conn *conn, uint64_t size, bool multi_conn)
{
  SCOPED_LOCK (&exports_lock);

  conn->number = ++nr_conns;
  conn->size = size;
  conn->multi_conn = multi_conn;
  conn->state = CONN_PREPARED;
}

/* If DISK did not exist when CONN was opened (see exports_disk_locked), CONN is
 * not in disk->visibility yet.  If the disk has changed since then, treat CONN
 * as without multi-conn: it might not see changes before it is flushed itself.
 */
static void
attach_disk_locked (struct conn *conn, struct disk *disk)
{
  if (conn->disk || !disk)
    return;
  conn->disk = disk;
  if (disk->changes > 0)
    conn->multi_conn = false;
  visibility_open (&disk->visibility, &conn->unflushed);
}

/* Returns true if the caller must call conn_join_end. */
static bool
join_locked (struct conn *conn)
{
  struct export *export;
  bool withdrawn;

  if (conn->state != CONN_PREPARED)
    return false;
  conn->state = CONN_JOINED;
  export = export_get_locked (conn->name);
  if (!export) {
    conn->join_error = errno;
    return true;
  }
  conn->export = export;
  attach_disk_locked (conn, export->disk);
  withdrawn = export_set_size_locked (export, conn->size,
                                      conn->number > export->newest);
  if (conn->number > export->newest)
    export->newest = conn->number;
  export->joins++;
  export->conns++;
  export_set_idle_locked (export, false);
  return withdrawn;
}

/* Requests of the filter, after the client has disconnected, do not count. */
static bool
use_disk_locked (struct conn *conn)
{
  return conn->disk && conn->state != CONN_DISCONNECTED &&
    exports_use_locked (conn->disk, conn->tls);
}

bool
conn_join_locked (struct conn *conn)
{
  bool withdrawn;

  exports_assert_locked ();
  /* Attach the disk even if this connection gets no export: if another
   * connection has created an export of the disk since this one was opened,
   * changes by this connection must invalidate the content of that export.
   */
  if (!conn->disk)
    attach_disk_locked (conn, exports_disk_locked (conn->name));
  /* If the disk becomes mixed, report that before a new size withdraws the sum
   * without a reason.  If there was no disk, join_locked creates it.
   */
  withdrawn = use_disk_locked (conn);
  withdrawn |= join_locked (conn);
  return use_disk_locked (conn) || withdrawn;
}

void
conn_join_end (const struct conn *conn)
{
  if (conn->join_error == ENOSPC)
    nbdkit_error ("blkhash: there are more than %u exports; '%s' gets no sum",
                  EXPORTS_MAX, conn->name);
  else if (conn->join_error)
    nbdkit_error ("blkhash: '%s' gets no sum: %s", conn->name,
                  strerror (conn->join_error));
  report_await_withdrawals ();
}

/* Sets *JOINED to true if the caller must call conn_join_end.  Returns true if
 * this connection must finish the export.
 */
static bool
disconnect_locked (struct conn *conn, bool *joined)
{
  struct export *export;

  /* A connection without requests must not finish an export that other
   * connections use, or that a connection prepared later has used; nor one
   * whose disk the other kind of clients has used, with or without TLS.
   */
  if (conn->state == CONN_PREPARED) {
    attach_disk_locked (conn, exports_disk_locked (conn->name));
    export = export_find_locked (conn->name);
    if ((conn->disk && disk_belongs_to (conn->disk, !conn->tls)) ||
        (export && (export->conns > 0 || export->finishing ||
                    export->newest > conn->number)))
      return false;
    *joined = join_locked (conn);
  }
  export = conn->export;
  if (conn->state != CONN_JOINED || !export)
    return false;
  conn->state = CONN_DISCONNECTED;
  if (--export->conns > 0)
    return false;
  /* An earlier connection may still be finishing the export, and may have read
   * blocks before this connection changed them.  Such blocks are missing in the
   * leaf table, so wait, and then finish the export again.
   */
  while (export->finishing)
    pthread_cond_wait (&not_finishing, &exports_lock);
  if (export->conns > 0)
    return false;
  /* If the leaf table was reset to another size in the meantime, this
   * connection cannot complete it.
   */
  if (export->size != conn->size && !export->broken)
    return false;
  export->finishing = true;
  export->disk->finished_by[conn->tls] = true;
  return true;
}

bool
conn_disconnect (struct conn *conn)
{
  bool joined = false, last;

  {
    SCOPED_LOCK (&exports_lock);

    last = disconnect_locked (conn, &joined);
  }
  if (joined)
    conn_join_end (conn);
  return last;
}

void
conn_finish_end (struct conn *conn)
{
  SCOPED_LOCK (&exports_lock);

  conn->export->finishing = false;
  pthread_cond_broadcast (&not_finishing);
  if (conn->export->conns == 0)
    export_set_idle_locked (conn->export, true);
}

void
conn_close (struct conn *conn)
{
  SCOPED_LOCK (&exports_lock);

  if (conn->state == CONN_JOINED && conn->export) {
    conn->export->conns--;
    if (conn->export->conns == 0 && !conn->export->finishing)
      export_set_idle_locked (conn->export, true);
  }
  conn->state = CONN_DISCONNECTED;
  /* This must not be done earlier: connections that are opened before the
   * plugin closes this connection might not see its changes.
   */
  if (conn->disk)
    visibility_close (&conn->disk->visibility, &conn->unflushed);
}

/* ---- Visibility ---- */

static uint64_t
foreign_changes (const struct conn *conn)
{
  return conn->disk ? conn->disk->changes - conn->own_changes : 0;
}

bool
conn_is_behind_locked (const struct conn *conn)
{
  exports_assert_locked ();
  return foreign_changes (conn) > conn->seen;
}

bool
conn_is_stale_locked (const struct conn *conn)
{
  exports_assert_locked ();
  return !conn->multi_conn && conn_is_behind_locked (conn);
}

bool
conn_is_ignored_locked (const struct conn *conn)
{
  exports_assert_locked ();
  return !conn->export || conn->export->broken || disk_is_mixed (conn->disk) ||
    conn_is_stale_locked (conn);
}

void
conn_flush_begin (struct conn *conn, struct flush *flush)
{
  SCOPED_LOCK (&exports_lock);

  flush->foreign = foreign_changes (conn);
  flush->changes = conn->disk ? conn->disk->changes : 0;
  visibility_flush_begin (&conn->unflushed);
}

/* Called after a flush failed, for each range whose changes may be lost. */
static void
invalidate_lost (void *opaque, uint64_t offset, uint64_t end)
{
  struct disk *disk = opaque;

  claims_changed (&disk->claims, offset, end);
  disk_log_change (disk, NULL, offset, end);
}

/* A flush that writes changes to the disk, or may have lost them, counts as a
 * change itself: a connection that was opened after the changes and before the
 * flush may still see the old content.
 */
void
conn_flush_end (struct conn *conn, const struct flush *flush, bool ok)
{
  struct disk *disk;
  SCOPED_LOCK (&exports_lock);

  disk = conn->disk;
  if (disk)
    disk_flush_ended (disk, &conn->unflushed, ok);
  if (disk && !ok)
    disk->flush_failed = true;
  else if (disk)
    disk->flushed = MAX (disk->flushed, flush->changes);
  if (visibility_flush_end (&conn->unflushed, ok, invalidate_lost, disk) &&
      disk) {
    disk->changes++;
    conn->own_changes++;
  }
  if (ok && flush->foreign > conn->seen)
    conn->seen = flush->foreign;
}
