/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * nbdkit-blkhash-filter: computes the sum of a disk while it is transferred.
 *
 * This file has the callbacks of nbdkit, and opens the output files when the
 * server starts.  The callbacks pass on every request unchanged: the filter
 * changes no data, error, flag or reply.  nbdkit may call the callbacks of
 * connections and requests from several threads at the same time, those of
 * requests even for the same connection.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "blkhash/conn.h"
#include "blkhash/export.h"
#include "blkhash/finish.h"
#include "blkhash/manifest-save.h"
#include "blkhash/modify.h"
#include "blkhash/observe.h"
#include "blkhash/params.h"
#include "blkhash/pass.h"
#include "common/config-files.h"
#include "common/result-file.h"
#include "common/server.h"

/* ---- The output files ----
 *
 * The result file and the manifest.  These functions are called in the order
 * open, check and start, at first only for files that exist, so that no
 * existing file is changed unless both can be used.  They return 0.  If they
 * fail, they call nbdkit_error and stop_files, and return -1.
 */

#define RESULT_HEADER "# nbdkit-blkhash-filter replaces this file\n"

/* Close the files.  Remove those that open_files created, if the start failed
 * before start_files emptied or kept them.
 */
static void
stop_files (void)
{
  result_file_stop ();
  manifest_stop ();
}

/* Call stop_files if R is -1.  Returns R. */
static int
stop_after_error (int r)
{
  if (r == -1)
    stop_files ();
  return r;
}

static int
check_files (void)
{
  return stop_after_error (result_file_check () == -1 ? -1 : manifest_check ());
}

/* Open the files, and create those that do not exist if CREATE is set.  Check
 * that all can be written, and that an earlier server wrote their content, if
 * they have any.
 */
static int
open_files (bool create)
{
  result_form = (struct result_form) {
    .header = RESULT_HEADER, .hash = params.hash, .name = params.name
  };
  if (result_file_open ("blkhash-file", params.file, create) == -1 ||
      manifest_open (create) == -1)
    return stop_after_error (-1);
  return check_files ();
}

/* Empty the files, except the manifest if KEEP_MANIFEST is set. */
static int
start_files (bool keep_manifest)
{
  return stop_after_error (result_file_start () == -1 ? -1
                           : manifest_start (keep_manifest));
}

/* Empty the files that exist, except the manifest of an update, before anything
 * else is done that can fail, and close them.
 */
static int
withdraw_files (void)
{
  if (open_files (false) == -1 || start_files (params.update) == -1)
    return -1;
  stop_files ();
  return 0;
}

/* ---- The server ---- */

static int
blkhash_config (nbdkit_next_config *next, nbdkit_backend *nxdata,
                const char *key, const char *value)
{
  return config_files_config (next, nxdata, key, value, params_config);
}

static int
blkhash_config_complete (nbdkit_next_config_complete *next,
                         nbdkit_backend *nxdata)
{
  if (server_check_single ("blkhash") == -1 || params_complete () == -1 ||
      withdraw_files () == -1 || config_files_pass_on () == -1)
    return -1;
  return next (nxdata);
}

/* For nbdkit --dump-plugin --filter=blkhash PLUGIN, since nbdkit 1.36. */
#if NBDKIT_VERSION_MAJOR > 1 || NBDKIT_VERSION_MINOR >= 36
#define HAVE_DUMP_PLUGIN 1

static void
blkhash_dump_plugin (void)
{
  printf ("blkhash_version=%s\n", PACKAGE_VERSION);
  params_dump_digests ();
}
#endif

static int
blkhash_get_ready (int thread_model)
{
  pass_read_set_parallel (thread_model == NBDKIT_THREAD_MODEL_PARALLEL);
  if (open_files (true) == -1)
    return -1;
  if (baseline_load () == -1) {
    stop_files ();
    return -1;
  }
  return start_files (baseline_is_valid_locked ());
}

/* Check again, after nbdkit has changed its user and gone to the background. */
static int
blkhash_after_fork (nbdkit_backend *backend)
{
  (void) backend;
  baseline_after_fork ();
  return check_files ();
}

static void
blkhash_cleanup (nbdkit_backend *backend)
{
  (void) backend;
  ending_begin ();
  finish_report ();
}

static void
blkhash_unload (void)
{
  if (!server_unload ())
    return;
  exports_free ();
  stop_files ();
  params_free ();
  config_files_free ();
}

/* ---- Connections ---- */

struct handle {
  struct conn conn;
  char *name;                   /* of the export */
};

static const char *
blkhash_default_export (nbdkit_next_default_export *next,
                        nbdkit_backend *nxdata, int readonly, int is_tls)
{
  const char *name = next (nxdata, readonly);

  (void) is_tls;
  if (name)
    exports_set_default (name);
  return name;
}

static void *
blkhash_open (nbdkit_next_open *next, nbdkit_context *context,
              int readonly, const char *exportname, int is_tls)
{
  struct handle *handle = calloc (1, sizeof *handle);

  if (handle)
    handle->name = strdup (exportname);
  if (!handle || !handle->name) {
    nbdkit_error ("blkhash: %m");
    free (handle);
    return NULL;
  }
  conn_init (&handle->conn, handle->name, is_tls);
  if (next (context, readonly, exportname) == -1) {
    conn_close (&handle->conn);
    free (handle->name);
    free (handle);
    return NULL;
  }
  return handle;
}

static int
blkhash_prepare (nbdkit_next *next, void *opaque, int readonly)
{
  struct handle *handle = opaque;
  int64_t size = next->get_size (next);

  (void) readonly;
  if (size == -1 || exports_check_size (size) == -1)
    return -1;
  conn_prepare (&handle->conn, size, next->can_multi_conn (next) == 1);
  return 0;
}

/* The export is finished here and not in .close: nbdkit does not always call
 * .close, and in .close the plugin can no longer be read.
 */
static int
blkhash_finalize (nbdkit_next *next, void *opaque)
{
  struct handle *handle = opaque;

  if (!ending_enter ())
    return 0;
  finish_changes (next, &handle->conn);
  if (conn_disconnect (&handle->conn)) {
    finish_export (next, &handle->conn);
    conn_finish_end (&handle->conn);
  }
  ending_leave ();
  return 0;
}

static void
blkhash_close (void *opaque)
{
  struct handle *handle = opaque;

  conn_close (&handle->conn);
  free (handle->name);
  free (handle);
}

/* ---- Requests ---- */

/* Record whether the request failed, and return its result R.  LAST_FAILED is
 * written only if it changes, because each write of it slows down the threads
 * that check it.
 */
static int
done (struct handle *handle, int r)
{
  bool *last_failed = &handle->conn.last_failed;

  if (__atomic_load_n (last_failed, __ATOMIC_RELAXED) != (r == -1))
    __atomic_store_n (last_failed, r == -1, __ATOMIC_RELAXED);
  return r;
}

static int
blkhash_pread (nbdkit_next *next, void *opaque,
               void *buf, uint32_t count, uint64_t offset,
               uint32_t flags, int *err)
{
  struct handle *handle = opaque;
  struct request request;
  int r;

  observe_begin (&handle->conn, &request, offset, count);
  r = next->pread (next, buf, count, offset, flags, err);
  if (r == 0)
    observe_data (&handle->conn, &request, buf);
  observe_end (&handle->conn, &request, r == 0 ? count : 0);
  return done (handle, r);
}

static int
blkhash_extents (nbdkit_next *next, void *opaque,
                 uint32_t count, uint64_t offset, uint32_t flags,
                 struct nbdkit_extents *extents, int *err)
{
  struct handle *handle = opaque;
  struct request request;
  int r;

  observe_begin (&handle->conn, &request, offset, count);
  r = next->extents (next, count, offset, flags, extents, err);
  if (r == 0)
    observe_extents (&handle->conn, &request, extents,
                     flags & NBDKIT_FLAG_REQ_ONE);
  observe_end (&handle->conn, &request, 0);
  return done (handle, r);
}

static int
blkhash_pwrite (nbdkit_next *next, void *opaque,
                const void *buf, uint32_t count, uint64_t offset,
                uint32_t flags, int *err)
{
  struct handle *handle = opaque;
  struct request request;
  int r;

  modify_begin (&handle->conn, &request, offset, count);
  r = next->pwrite (next, buf, count, offset, flags, err);
  modify_end (&handle->conn, &request,
              r == 0 ? MODIFY_DATA : MODIFY_UNKNOWN, buf);
  return done (handle, r);
}

/* The plugin refuses a zero request with FAST_ZERO if it would not be fast.
 * For the client that is not a failure: the client writes zeros instead.
 */
static bool
is_refused (int r, uint32_t flags, int err)
{
  return r == -1 && (flags & NBDKIT_FLAG_FAST_ZERO) &&
    (err == ENOTSUP || err == EOPNOTSUPP);
}

static int
blkhash_zero (nbdkit_next *next, void *opaque,
              uint32_t count, uint64_t offset, uint32_t flags, int *err)
{
  struct handle *handle = opaque;
  struct request request;
  int r;

  modify_begin (&handle->conn, &request, offset, count);
  r = next->zero (next, count, offset, flags, err);
  if (is_refused (r, flags, *err)) {
    modify_end (&handle->conn, &request, MODIFY_REFUSED, NULL);
    return r;
  }
  modify_end (&handle->conn, &request,
              r == 0 ? MODIFY_ZERO : MODIFY_UNKNOWN, NULL);
  return done (handle, r);
}

static int
blkhash_trim (nbdkit_next *next, void *opaque,
              uint32_t count, uint64_t offset, uint32_t flags, int *err)
{
  struct handle *handle = opaque;
  struct request request;
  int r;

  modify_begin (&handle->conn, &request, offset, count);
  r = next->trim (next, count, offset, flags, err);
  modify_end (&handle->conn, &request, MODIFY_TRIM, NULL);
  return done (handle, r);
}

static int
blkhash_flush (nbdkit_next *next, void *opaque, uint32_t flags, int *err)
{
  struct handle *handle = opaque;
  struct flush flush;
  int r;

  conn_flush_begin (&handle->conn, &flush);
  r = next->flush (next, flags, err);
  conn_flush_end (&handle->conn, &flush, r == 0);
  return done (handle, r);
}

static int
blkhash_cache (nbdkit_next *next, void *opaque,
               uint32_t count, uint64_t offset, uint32_t flags, int *err)
{
  struct handle *handle = opaque;
  int r = next->cache (next, count, offset, flags, err);

  modify_prefetched (&handle->conn, offset, count);
  return done (handle, r);
}

static struct nbdkit_filter filter = {
  .name = "blkhash",
  .longname = "nbdkit blkhash filter",
  .description = "compute the sum of the disk while it is transferred",
  .load = server_load,
  .unload = blkhash_unload,
  .config = blkhash_config,
  .config_complete = blkhash_config_complete,
  .config_help = PARAMS_HELP,
#ifdef HAVE_DUMP_PLUGIN
  .dump_plugin = blkhash_dump_plugin,
#endif
  .get_ready = blkhash_get_ready,
  .after_fork = blkhash_after_fork,
  .cleanup = blkhash_cleanup,
  .preconnect = server_preconnect,
  .default_export = blkhash_default_export,
  .open = blkhash_open,
  .close = blkhash_close,
  .prepare = blkhash_prepare,
  .finalize = blkhash_finalize,
  .pread = blkhash_pread,
  .extents = blkhash_extents,
  .pwrite = blkhash_pwrite,
  .zero = blkhash_zero,
  .trim = blkhash_trim,
  .flush = blkhash_flush,
  .cache = blkhash_cache,
};

/* The filter's entry point.  Older versions of nbdkit do not declare it. */
struct nbdkit_filter *filter_init (void);

NBDKIT_REGISTER_FILTER (filter)
