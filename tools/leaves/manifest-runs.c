/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves in a manifest, as an iterator.
 */

#include <config.h>

#include <errno.h>

#include "leaves/manifest-runs.h"
#include "util/error.h"
#include "util/progress.h"

/* Remove the blocks beyond SIZE from RUN. */
static void
limit_run (struct blkhash_manifest_run *run, uint64_t size,
           uint32_t block_size)
{
  uint64_t end = size / block_size + (size % block_size != 0);
  uint64_t left = run->first < end ? end - run->first : 0;

  if (run->count > left)
    run->count = left;
}

static int
next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct manifest_runs *manifest = (struct manifest_runs *) runs;
  struct blkhash_manifest_reader *r = manifest->reader;
  uint32_t block_size =
    blkhash_opts_get_block_size (blkhash_manifest_reader_opts (r));
  int err;

  do {
    err = blkhash_manifest_reader_next (r, run);
    if (err == ENOENT)
      return err;
    if (err) {
      error_set (manifest->error, "%s%s%s",
                 manifest->name ? manifest->name : "",
                 manifest->name ? ": " : "", blkhash_manifest_reader_error (r));
      return err;
    }
    limit_run (run, manifest->size, block_size);
  } while (run->count == 0);
  progress_add (manifest->progress,
                leaf_run_bytes (run, manifest->size, block_size));
  return 0;
}

void
manifest_runs_init (struct manifest_runs *manifest,
                    struct blkhash_manifest_reader *reader, const char *name,
                    uint64_t size, const struct progress *progress,
                    struct error *error)
{
  *manifest = (struct manifest_runs) {
    .runs.next = next, .reader = reader, .name = name, .size = size,
    .progress = progress, .error = error
  };
}
