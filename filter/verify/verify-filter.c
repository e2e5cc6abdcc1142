/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * nbdkit-blkhash-verify-filter: verify each block that clients read against a
 * manifest.
 *
 * This file has the callbacks of nbdkit.  The export is read-only, and a block
 * has only one content that the manifest proves.  So all connections of an
 * export share its verified blocks in the cache, and the states of its blocks,
 * even if the connections of the plugin return different content.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "../lib/common/util.h"
#include "common/config-files.h"
#include "common/server.h"
#include "verify/publish.h"
#include "verify/verify-check.h"
#include "verify/verify-disk.h"
#include "verify/verify-export.h"
#include "verify/verify-params.h"
#include "verify/verify-repair.h"

#define MIN_PREFERRED 512       /* bytes; nbdkit accepts no smaller value */

/* ---- The server ---- */

static int
verify_config (nbdkit_next_config *next, nbdkit_backend *nxdata,
               const char *key, const char *value)
{
  return config_files_config (next, nxdata, key, value, verify_params_config);
}

static int
verify_config_complete (nbdkit_next_config_complete *next,
                        nbdkit_backend *nxdata)
{
  if (server_check_single ("blkhash-verify") == -1 ||
      verify_params_complete () == -1 || publish_withdraw () == -1 ||
      config_files_pass_on () == -1)
    return -1;
  return next (nxdata);
}

static int
verify_get_ready (int thread_model)
{
  (void) thread_model;
  if (verify_exports_open () == -1 || repair_open () == -1)
    return -1;
  return publish_open ();
}

/* Called after nbdkit has changed its user, and has forked into the background.
 */
static int
verify_after_fork (nbdkit_backend *backend)
{
  (void) backend;
  if (publish_start () == 0)
    return 0;
  publish_close ();             /* nbdkit exits without calling .unload */
  return -1;
}

static void
verify_cleanup (nbdkit_backend *backend)
{
  (void) backend;
  ending_begin ();
  publish_finish ();
}

static void
log_counts (void)
{
  const struct verify_export *export;

  for (export = verify_exports_first_locked (); export; export = export->next) {
    const struct tally *tally = &export->disk->tally;

    nbdkit_debug ("blkhash-verify: blocks: %" PRIu64 " ok, %" PRIu64 " differ, "
                  "%" PRIu64 " unreadable, %" PRIu64 " transient, %" PRIu64
                  " repaired",
                  tally->counts[BLOCK_OK], tally->counts[BLOCK_DIFFERS],
                  tally->counts[BLOCK_UNREADABLE],
                  tally->transient, tally->counts[BLOCK_REPAIRED] +
                  tally->counts[BLOCK_UNREADABLE_REPAIRED]);
  }
}

static void
verify_unload (void)
{
  if (!server_unload ())
    return;
  log_counts ();
  publish_close ();
  repair_close ();
  verify_exports_free ();
  config_files_free ();
}

/* ---- The export name ---- */

/* If clients can use only one export, its name is set by a parameter, and never
 * by clients.  The default is "", which the plugin resolves itself: its default
 * name is not known before a client connects.
 */
static const char *
only_export (void)
{
  return verify_params.export ? verify_params.export : "";
}

static int
verify_list_exports (nbdkit_next_list_exports *next, nbdkit_backend *nxdata,
                     int readonly, int is_tls, struct nbdkit_exports *exports)
{
  (void) is_tls;
  return verify_params_only_export ()
    ? nbdkit_add_export (exports, only_export (), NULL)
    : next (nxdata, readonly, exports);
}

static const char *
verify_default_export (nbdkit_next_default_export *next,
                       nbdkit_backend *nxdata, int readonly, int is_tls)
{
  (void) is_tls;
  return verify_params_only_export () ? only_export ()
                                      : next (nxdata, readonly);
}

static bool
may_open (const char *exportname)
{
  if (!verify_params_only_export () ||
      strcmp (exportname, only_export ()) == 0)
    return true;
  nbdkit_error ("blkhash-verify: clients can use only the export '%s', "
                "because all blocks must be those of one disk: see "
                "blkhash-verify-export", only_export ());
  return false;
}

/* ---- Connections ---- */

/* A connection. */
struct handle {
  struct plugin_disk plugin;
  struct verify_export *export;
  bool is_client;               /* it counts in EXPORT->clients */
};

static void
free_handle (struct handle *handle)
{
  if (handle->export)
    verify_export_release (handle->export);
  free (handle);
}

static void *
verify_open (nbdkit_next_open *next, nbdkit_context *context,
             int readonly, const char *exportname, int is_tls)
{
  struct handle *handle = calloc (1, sizeof *handle);

  (void) readonly;
  (void) is_tls;
  if (!handle) {
    nbdkit_error ("blkhash-verify: %m");
    return NULL;
  }
  if (may_open (exportname))
    handle->export = verify_export_acquire (exportname);
  if (handle->export && next (context, 1, exportname) == 0)
    return handle;
  free_handle (handle);
  return NULL;
}

static int
check_size (const struct handle *handle)
{
  const struct verify_disk *disk = handle->export->disk;
  uint64_t size = handle->plugin.size;

  if (verify_params.truncate ? size >= disk->size : size == disk->size)
    return 0;
  if (ending_enter ()) {
    verify_export_refuse_client (handle->export, size);
    ending_leave ();
  }
  nbdkit_error ("blkhash-verify: the disk has %" PRIu64 " bytes, %s %" PRIu64
                "%s", size, disk->path, disk->size, size > disk->size
                ? "; blkhash-verify-size=truncate reads only these" : "");
  return -1;
}

/* The size is checked before the manifest is read, so that no more blocks are
 * hashed than the plugin's disk has; and again, because verify_export_load can
 * replace the export.
 */
static int
verify_prepare (nbdkit_next *next, void *opaque, int readonly)
{
  struct handle *handle = opaque;

  (void) readonly;
  if (plugin_disk_init (&handle->plugin, next) == -1 ||
      check_size (handle) == -1 || verify_export_load (&handle->export) == -1 ||
      check_size (handle) == -1)
    return -1;
  if (ending_enter ()) {        /* otherwise the client makes no request */
    verify_export_begin_client (handle->export, handle->plugin.size);
    handle->is_client = true;
    ending_leave ();
  }
  return 0;
}

static void
end_client (struct handle *handle)
{
  if (handle->is_client)
    verify_export_end_client (handle->export);
  handle->is_client = false;
}

static int
verify_finalize (nbdkit_next *next, void *opaque)
{
  struct handle *handle = opaque;
  bool was_client = handle->is_client;

  end_client (handle);
  if (was_client && verify_params.zero == ZERO_EXTENTS && ending_enter ()) {
    check_zeros (handle->export, &handle->plugin, next);
    ending_leave ();
  }
  publish_wake ();
  return 0;
}

static void
verify_close (void *opaque)
{
  struct handle *handle = opaque;

  end_client (handle);          /* in case nbdkit did not call .finalize */
  free_handle (handle);
}

static struct verify_disk *
disk_of (const struct handle *handle)
{
  return handle->export->disk;
}

static int64_t
verify_get_size (nbdkit_next *next, void *handle)
{
  (void) next;
  return disk_of (handle)->size;
}

static int
verify_can_write (nbdkit_next *next, void *handle)
{
  (void) next; (void) handle;
  return 0;
}

/* Two connections can see different content if blocks that differ are served.
 * Then multi-conn is advertised only if the plugin advertises it.
 */
static int
verify_can_multi_conn (nbdkit_next *next, void *handle)
{
  (void) handle;
  return verify_params.fail == FAIL_WARN ? next->can_multi_conn (next) : 1;
}

/* No prefetch, because a prefetch by the plugin does not fill our cache. */
static int
verify_can_cache (nbdkit_next *next, void *handle)
{
  (void) next; (void) handle;
  return NBDKIT_CACHE_NONE;
}

/* With blkhash-verify-zero=read no extents are advertised, because clients do
 * not read ranges that are advertised as zeros.
 */
static int
verify_can_extents (nbdkit_next *next, void *handle)
{
  (void) next; (void) handle;
  return verify_params.zero != ZERO_READ;
}

static int
verify_block_size (nbdkit_next *next, void *handle, uint32_t *minimum,
                   uint32_t *preferred, uint32_t *maximum)
{
  uint32_t theirs = 0;

  if (next->block_size (next, minimum, &theirs, maximum) == -1)
    return -1;
  *minimum = 1;
  *preferred = MAX (MAX (disk_of (handle)->block_size, MIN_PREFERRED), theirs);
  *maximum = UINT32_MAX;
  return 0;
}

/* ---- Requests ---- */

static int
verify_pread (nbdkit_next *next, void *opaque, void *buf, uint32_t count,
              uint64_t offset, uint32_t flags, int *err)
{
  const struct handle *handle = opaque;
  int r = check_read (disk_of (handle), &handle->plugin, next, buf, count,
                      offset, err);

  (void) flags;
  if (r == -1)
    publish_findings ();
  return r;
}

static int
verify_extents (nbdkit_next *next, void *handle, uint32_t count,
                uint64_t offset, uint32_t flags,
                struct nbdkit_extents *extents, int *err)
{
  struct verify_disk *disk = disk_of (handle);
  uint64_t end = offset + count;

  (void) next;
  if (verify_disk_is_stopped (disk)) {
    *err = EIO;
    return -1;
  }
  while (offset < end) {
    uint64_t block = offset / disk->block_size, start, len;
    struct blkhash_manifest_run run;
    uint32_t type;

    if (verify_disk_get_run (disk, block, disk->blocks - block, NULL, &run,
                             err) == -1)
      return -1;
    start = block * disk->block_size;
    len = verify_disk_bytes (disk, block, run.count) - (offset - start);
    /* Extents end at the end of the query: nbdkit 1.32 aborts if the reply to a
     * client has an extent of 4 GiB or more.
     */
    len = MIN (len, end - offset);
    type = run.leaves ? 0 : NBDKIT_EXTENT_HOLE | NBDKIT_EXTENT_ZERO;
    if (nbdkit_add_extent (extents, offset, len, type) == -1) {
      *err = errno;
      return -1;
    }
    offset += len;
    if (flags & NBDKIT_FLAG_REQ_ONE)
      break;
  }
  return 0;
}

static struct nbdkit_filter filter = {
  .name = "blkhash-verify",
  .longname = "nbdkit blkhash verify filter",
  .description = "verify each block that clients read against a manifest",
  .load = server_load,
  .unload = verify_unload,
  .config = verify_config,
  .config_complete = verify_config_complete,
  .config_help = VERIFY_PARAMS_HELP,
  .get_ready = verify_get_ready,
  .after_fork = verify_after_fork,
  .cleanup = verify_cleanup,
  .preconnect = server_preconnect,
  .list_exports = verify_list_exports,
  .default_export = verify_default_export,
  .open = verify_open,
  .prepare = verify_prepare,
  .finalize = verify_finalize,
  .close = verify_close,
  .get_size = verify_get_size,
  .can_write = verify_can_write,
  .can_multi_conn = verify_can_multi_conn,
  .can_cache = verify_can_cache,
  .can_extents = verify_can_extents,
  .block_size = verify_block_size,
  .pread = verify_pread,
  .extents = verify_extents,
};

/* The entry point, which nbdkit looks up by name.  Older versions of
 * nbdkit-filter.h do not declare it.
 */
struct nbdkit_filter *filter_init (void);

NBDKIT_REGISTER_FILTER (filter)
