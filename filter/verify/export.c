/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use.
 *
 * There is one manifest, so all export names are one disk.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/sum-line.h"
#include "../lib/manifest/manifest-index.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/params.h"

pthread_mutex_t exports_lock = PTHREAD_MUTEX_INITIALIZER;

static struct export *exports;  /* set before the server forks */

static int
no_memory (void)
{
  nbdkit_error ("blkhash-verify: %m");
  return -1;
}

/* Count all that is zero by the manifest as good. */
static int
set_zeros (struct export *export)
{
  struct disk *disk = export->disk;
  struct blkhash_manifest_run run;
  uint64_t block;
  int err;

  for (block = 0; block < disk->blocks; block += run.count) {
    if (disk_get_run (disk, block, disk->blocks - block, NULL, &run,
                      &err) == -1)
      return -1;
    if (run.leaves)
      continue;
    if (tally_set_zeros (&disk->tally, block, run.count) == -1)
      return no_memory ();
    export->zeros += disk_bytes (disk, block, run.count);
  }
  return 0;
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

/* Without an output nothing of that is needed. */
static int
prepare_outputs (struct export *export)
{
  if (!verify_params_have_output ())
    return 0;
  if (!verify_params.read_zeros && set_zeros (export) == -1)
    return -1;
  return make_line (export);
}

int
exports_open (void)
{
  exports = calloc (1, sizeof *exports);
  if (!exports)
    return no_memory ();
  exports->name = verify_params.name ? verify_params.name : "-";
  exports->disk = disk_open (verify_params.manifest, verify_params.sum,
                             verify_params.file != NULL);
  if (exports->disk && prepare_outputs (exports) == 0)
    return 0;
  exports_free ();
  return -1;
}

void
exports_free (void)
{
  while (exports) {
    struct export *export = exports;

    exports = export->next;
    disk_free (export->disk);
    free (export->line);
    free (export);
  }
}

struct export *
exports_get (void)
{
  return exports;
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
