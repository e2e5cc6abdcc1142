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

/* Remove the blocks beyond manifest->size from RUN, and record the first one
 * that has data.
 */
static void
limit_run (struct manifest_runs *manifest, struct blkhash_manifest_run *run,
           uint32_t block_size)
{
  uint64_t size = manifest->size;
  uint64_t end = size / block_size + (size % block_size != 0);
  uint64_t left = run->first < end ? end - run->first : 0;

  if (run->count <= left)
    return;
  if (run->leaves && manifest->trailing_block == UINT64_MAX)
    manifest->trailing_block = run->first + left;
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
    limit_run (manifest, run, block_size);
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
    .trailing_block = UINT64_MAX, .progress = progress, .error = error
  };
}
