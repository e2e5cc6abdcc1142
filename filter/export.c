/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use, and the connections to them.
 */

#include <config.h>

#include <search.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "blkhash.h"

#include "../lib/cleanup.h"
#include "../lib/leaves.h"
#include "export.h"
#include "params.h"

/* Clients choose names, and most plugins take any: they must not be able to
 * fill the memory with exports.
 */
#define MAX_EXPORTS 10000

pthread_mutex_t exports_lock = PTHREAD_MUTEX_INITIALIZER;

/* Protected by exports_lock. */
static struct export *exports, **exports_tail = &exports;
static void *exports_by_name;   /* of tsearch(3) */
static unsigned nr_exports;
static uint64_t nr_conns;       /* that there ever were */
static struct disk shared_disk; /* unless exports are distinct */
static char *default_name;
static pthread_cond_t not_finishing = PTHREAD_COND_INITIALIZER;

/* Of pieces of blocks that wait for the rest, in all exports together. */
static struct pieces_budget budget = { .bound = 64 * 1024 * 1024 };

/* ---- Exports ---- */

static int
compare_names (const void *a, const void *b)
{
  return strcmp (((const struct export *) a)->name,
                 ((const struct export *) b)->name);
}

/* NULL: nobody used it yet. */
static struct export *
find_export_locked (const char *name)
{
  struct export key = { .name = (char *) name };
  void *found = tfind (&key, &exports_by_name, compare_names);

  return found ? *(struct export **) found : NULL;
}

static struct export *
add_export_locked (const char *name)
{
  struct export *export;

  if (nr_exports == MAX_EXPORTS) {
    nbdkit_error ("blkhash: more than %u exports, '%s' is not watched",
                  MAX_EXPORTS, name);
    return NULL;
  }
  export = calloc (1, sizeof *export);
  if (export)
    export->name = strdup (name);
  if (!export || !export->name ||
      !tsearch (export, &exports_by_name, compare_names)) {
    nbdkit_error ("blkhash: %m");
    if (export)
      free (export->name);
    free (export);
    return NULL;
  }
  export->disk = params.distinct_exports ? &export->own_disk : &shared_disk;
  export->disk->exports++;
  disk_look (export->disk, &export->log_seen);
  *exports_tail = export;
  exports_tail = &export->next;
  nr_exports++;
  return export;
}

const char *
export_shown_name_locked (const struct export *export)
{
  if (*export->name == '\0')
    return params.name ? params.name : "-";
  if (params.name && default_name && strcmp (export->name, default_name) == 0)
    return params.name;
  return export->name;
}

/* Not counted, but listed: a change must not walk over all names to find those
 * that have a sum.
 */
static void
link_published_locked (struct export *export)
{
  struct export **head = &export->disk->published;

  export->next_published = *head;
  export->link_published = head;
  if (*head)
    (*head)->link_published = &export->next_published;
  *head = export;
  export->published = true;
}

static void
unlink_published_locked (struct export *export)
{
  *export->link_published = export->next_published;
  if (export->next_published)
    export->next_published->link_published = export->link_published;
  export->published = false;
}

void
export_publish_locked (struct export *export,
                       const unsigned char *md, size_t len)
{
  report_sum (&export->line, export_shown_name_locked (export), md, len);
  if (!export->published)
    link_published_locked (export);
  export->written = false;
  export->bytes_read = 0;
}

bool
export_withdraw_locked (struct export *export)
{
  if (!export->published)
    return false;
  report_withdraw (&export->line);
  unlink_published_locked (export);
  return true;
}

void
exports_withdraw_locked (struct disk *disk, struct export *by)
{
  struct export *export;

  if (by)
    export_withdraw_locked (by);
  while ((export = disk->published)) {
    export_withdraw_locked (export);
    report_incomplete (&export->line, export_shown_name_locked (export),
                       "it was changed by another export name");
  }
}

/* Nothing is known: a new export, or one that is not what it was.  True if a
 * sum was withdrawn.
 */
static bool
reset_locked (struct export *export, uint64_t size)
{
  blkhash_leaves_free (export->leaves);
  export->leaves = leaves_new_in_budget (params.hash, size, 0, &budget);
  export->broken = export->leaves ? NULL : "no memory";
  disk_look (export->disk, &export->log_seen);
  export->contradictions = 0;
  export->size = size;
  export->written = false;
  export->bytes_read = 0;
  return export_withdraw_locked (export);
}

/* A range that was changed by another name, whose size can be another one. */
static void
forget_range (void *opaque, uint64_t offset, uint64_t end)
{
  struct export *export = opaque;

  if (end > export->size)
    end = export->size;
  if (offset < end)
    blkhash_leaves_forget (export->leaves, end - offset, offset);
}

void
export_catch_up_locked (struct export *export)
{
  if (export->leaves)
    disk_catch_up (export->disk, export, &export->log_seen,
                   forget_range, export);
}

void
exports_set_default (const char *name)
{
  SCOPED_LOCK (&exports_lock);

  if (default_name && strcmp (default_name, name) == 0)
    return;
  free (default_name);
  default_name = strdup (name); /* NULL: it is called by its own name */
}

void
exports_foreach_locked (void (*fn) (struct export *export))
{
  struct export *export;

  for (export = exports; export; export = export->next)
    fn (export);
}

void
exports_free (void)
{
  while (exports) {
    struct export *export = exports;

    exports = export->next;
    tdelete (export, &exports_by_name, compare_names);
    blkhash_leaves_free (export->leaves);
    disk_destroy (&export->own_disk);
    free (export->line.text);
    free (export->name);
    free (export);
  }
  disk_destroy (&shared_disk);
  free (default_name);
}

/* ---- Connections ---- */

void
conn_init (struct conn *conn, const char *name)
{
  const struct export *export;
  SCOPED_LOCK (&exports_lock);

  *conn = (struct conn) { .name = name };
  if (!params.distinct_exports)
    conn->disk = &shared_disk;
  else if ((export = find_export_locked (name)))
    conn->disk = export->disk;
  if (conn->disk)
    conn->seen = conn->disk->changes;
}

void
conn_prepare (struct conn *conn, uint64_t size, bool multi_conn)
{
  SCOPED_LOCK (&exports_lock);

  conn->number = ++nr_conns;
  conn->size = size;
  conn->multi_conn = multi_conn;
  conn->state = CONN_IDLE;
}

/* What a client left that is gone must not push out what another one needs. */
static void
set_idle_locked (struct export *export, bool idle)
{
  if (export->leaves)
    leaves_set_idle (export->leaves, idle);
}

/* A connection comes that was told of SIZE; NEWER: after all that came before.
 * True if a sum was withdrawn.
 */
static bool
see_size_locked (struct export *export, uint64_t size, bool newer)
{
  bool in_use = export->conns > 0 || export->finishing;

  if (!in_use && newer &&
      (export->broken || !export->leaves || export->size != size))
    return reset_locked (export, size);
  if (export->size == size)
    return false;
  export->broken = "its size changed while it was in use";
  return export_withdraw_locked (export);
}

bool
conn_join_locked (struct conn *conn)
{
  struct export *export;
  bool withdrawn;

  if (conn->state != CONN_IDLE)
    return false;
  conn->state = CONN_JOINED;
  export = find_export_locked (conn->name);
  if (!export)
    export = add_export_locked (conn->name);
  if (!export)
    return false;
  conn->export = export;
  conn->disk = export->disk;
  withdrawn = see_size_locked (export, conn->size,
                               conn->number > export->newest);
  if (conn->number > export->newest)
    export->newest = conn->number;
  export->joins++;
  export->conns++;
  set_idle_locked (export, false);
  return withdrawn;
}

bool
conn_leave (struct conn *conn)
{
  struct export *export;
  SCOPED_LOCK (&exports_lock);

  /* One that did nothing leaves those alone who do, or did since it came. */
  if (conn->state == CONN_IDLE) {
    export = find_export_locked (conn->name);
    if (export && (export->conns > 0 || export->finishing ||
                   export->newest > conn->number))
      return false;
    conn_join_locked (conn);
  }
  export = conn->export;
  if (conn->state != CONN_JOINED || !export)
    return false;
  conn->state = CONN_LEFT;
  if (--export->conns > 0)
    return false;
  /* What an earlier one has read just before we changed it must be out of the
   * table before we believe the table.
   */
  while (export->finishing)
    pthread_cond_wait (&not_finishing, &exports_lock);
  if (export->conns > 0)
    return false;
  /* Reset meanwhile, to a size that this connection cannot read. */
  if (export->size != conn->size && !export->broken)
    return false;
  export->finishing = true;
  return true;
}

void
conn_finished (struct conn *conn)
{
  SCOPED_LOCK (&exports_lock);

  conn->export->finishing = false;
  pthread_cond_broadcast (&not_finishing);
  if (conn->export->conns == 0)
    set_idle_locked (conn->export, true);
}

void
conn_close (struct conn *conn)
{
  SCOPED_LOCK (&exports_lock);

  if (conn->state == CONN_JOINED && conn->export) {
    conn->export->conns--;
    if (conn->export->conns == 0 && !conn->export->finishing)
      set_idle_locked (conn->export, true);
  }
  conn->state = CONN_LEFT;
}

uint64_t
conn_foreign_changes (struct conn *conn)
{
  SCOPED_LOCK (&exports_lock);

  return conn->disk ? conn->disk->changes - conn->own_changes : 0;
}

/* A connection that does not see what others change sees what was there when
 * it was opened, or flushed.
 */
bool
conn_is_stale_locked (const struct conn *conn)
{
  return !conn->multi_conn && conn->disk &&
    conn->disk->changes - conn->own_changes > conn->seen;
}

void
conn_refreshed (struct conn *conn, uint64_t foreign)
{
  SCOPED_LOCK (&exports_lock);

  if (foreign > conn->seen)
    conn->seen = foreign;
}
