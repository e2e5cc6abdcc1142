/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use.
 *
 * With blkhash-verify-manifest there is one export, for all names, which is
 * opened at the start.
 *
 * With blkhash-verify-exports, a manifest is opened when the first client of
 * its export connects, and closed when the last one has disconnected.  If the
 * server writes a result or a status, the export, with the states of its
 * blocks, is kept after that.  The states are still valid when the export is
 * opened again with the same disk, and further reads update them.  A stopped
 * export is kept even without a result or status, so that it stays stopped.
 * Clients can use only names for which there is a manifest.  The number of open
 * manifests and the number of kept exports are limited.  Only one manifest is
 * opened at a time.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/sum-line.h"
#include "../lib/manifest/manifest-index.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/manifest-dir.h"
#include "verify/params.h"
#include "verify/sum-list.h"

#define MAX_OPEN 64             /* manifests */
#define MAX_EXPORTS 10000

pthread_mutex_t exports_lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static struct export *exports;
static uint64_t generation;

/* Held while a manifest is opened.  A thread that holds it can take
 * exports_lock.
 */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static int
no_memory (void)
{
  nbdkit_error ("blkhash-verify: %m");
  return -1;
}

static int
make_line (struct export *export)
{
  const struct manifest_index *index = export->disk->index;
  char *sum = sum_line (manifest_index_opts (index),
                        manifest_index_sum (index), export->disk->leaf_size,
                        export->name, true, true);

  if (!sum || asprintf (&export->line, "%s\n", sum) == -1)
    export->line = NULL;
  free (sum);
  return export->line ? 0 : no_memory ();
}

/* ---- Opening ---- */

static void
free_export (struct export *export)
{
  if (!export)
    return;
  disk_free (export->disk);
  free (export->name);
  free (export->path);
  free (export->line);
  free (export);
}

static int
open_file (struct export *export)
{
  int fd;

  if (verify_params.exports)
    return manifest_dir_open_file (export->name, &export->path);
  export->path = strdup (verify_params.manifest);
  if (!export->path)
    return no_memory ();
  fd = open (export->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd == -1)
    nbdkit_error ("blkhash-verify-manifest: %s: %m", export->path);
  return fd;
}

/* Only outputs need the number of zeros, and only the result needs the sum. */
static unsigned
disk_flags (void)
{
  unsigned flags = verify_params.file ? DISK_COMPUTE : 0;

  if (verify_params_have_output () && !verify_params.read_zeros)
    flags |= DISK_COUNT_ZEROS;
  return flags;
}

static int
open_disk (struct export *export)
{
  const char *sum = verify_params.sums ? sum_list_find (export->name)
                                       : verify_params.sum;
  int fd = open_file (export);

  if (fd == -1)
    return -1;
  if (!sum) {
    nbdkit_error ("blkhash-verify-sums: no checksum for the export of %s",
                  export->path);
    close (fd);
    return -1;
  }
  export->disk = disk_open (fd, export->path, sum, disk_flags ());
  if (!export->disk)
    return -1;
  return verify_params_have_output () ? make_line (export) : 0;
}

/* Returns NULL after nbdkit_error. */
static struct export *
make_export (const char *name)
{
  struct export *export = calloc (1, sizeof *export);

  if (export)
    export->name = strdup (name);
  if (!export || !export->name)
    no_memory ();
  else if (open_disk (export) == 0)
    return export;
  free_export (export);
  return NULL;
}

int
exports_open (void)
{
  if (verify_params.exports)
    return manifest_dir_open (verify_params.exports) == -1 ||
      (verify_params.sums && sum_list_load (verify_params.sums) == -1)
      ? -1 : 0;
  exports = make_export (verify_params.name ? verify_params.name : "-");
  return exports ? 0 : -1;
}

void
exports_free (void)
{
  while (exports) {
    struct export *export = exports;

    exports = export->next;
    free_export (export);
  }
  manifest_dir_close ();
  sum_list_free ();
}

/* ---- Clients ---- */

static struct export *
find_locked (const char *name)
{
  struct export *export = exports;

  while (export && strcmp (export->name, name) != 0)
    export = export->next;
  return export;
}

/* Returns the export NAME, with one more user, if its manifest is open; or
 * NULL.
 */
static struct export *
acquire_open (const char *name)
{
  struct export *export;
  SCOPED_LOCK (&exports_lock);

  export = verify_params.exports ? find_locked (name) : exports;
  if (!export || (verify_params.exports && export->users == 0))
    return NULL;
  export->users++;
  return export;
}

static bool
may_open (const char *name)
{
  const struct export *export;
  unsigned count = 0, open = 0;
  SCOPED_LOCK (&exports_lock);

  for (export = exports; export; export = export->next) {
    count++;
    open += export->users > 0;
  }
  return open < MAX_OPEN && (count < MAX_EXPORTS || find_locked (name));
}

static bool
is_same_disk (const struct export *a, const struct export *b)
{
  return a->line && b->line && strcmp (a->line, b->line) == 0 &&
    a->disk->size == b->disk->size;
}

/* The kept export OLD was opened again, as FRESH.  Move the disk of FRESH to
 * OLD, with the old states of its blocks if it is the same disk, and free FRESH
 * and the old disk.  If the old disk was stopped, the new one is, too.  Returns
 * OLD.
 */
static struct export *
renew_locked (struct export *old, struct export *fresh)
{
  struct export saved = *old;

  if (disk_is_stopped (old->disk))
    disk_stop (fresh->disk);
  if (is_same_disk (old, fresh)) {
    tally_move (&fresh->disk->tally, &old->disk->tally);
    fresh->connected = old->connected;
  }
  *old = *fresh;
  old->next = saved.next;
  old->has_sum = saved.has_sum;
  *fresh = saved;
  free_export (fresh);
  return old;
}

static struct export *
add_export (struct export *fresh)
{
  struct export *export;
  SCOPED_LOCK (&exports_lock);

  export = find_locked (fresh->name);
  if (export)
    export = renew_locked (export, fresh);
  else {
    export = fresh;
    export->next = exports;
    exports = export;
  }
  generation++;
  export->users++;
  return export;
}

struct export *
export_acquire (const char *name)
{
  struct export *export = acquire_open (name), *fresh;

  if (export)
    return export;

  SCOPED_LOCK (&opening);
  export = acquire_open (name);
  if (export)
    return export;
  if (!may_open (name)) {
    nbdkit_error ("blkhash-verify-exports: too many exports are in use");
    return NULL;
  }
  fresh = make_export (name);
  return fresh ? add_export (fresh) : NULL;
}

static void
remove_locked (struct export *export)
{
  struct export **link = &exports;

  while (*link != export)
    link = &(*link)->next;
  *link = export->next;
  free_export (export);
}

void
export_release (struct export *export)
{
  SCOPED_LOCK (&exports_lock);

  if (--export->users > 0 || !verify_params.exports)
    return;
  if (verify_params_have_output () || disk_is_stopped (export->disk))
    disk_close (export->disk);
  else
    remove_locked (export);
}

void
export_set_connected (struct export *export)
{
  SCOPED_LOCK (&exports_lock);

  export->connected = true;
}

struct export *
exports_first_locked (void)
{
  return exports;
}

uint64_t
exports_generation_locked (void)
{
  return generation;
}
