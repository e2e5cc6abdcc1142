/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves in a manifest that can be read at any block, as an iterator.
 *
 * A manifest that was modified after it was loaded is an error, so the leaves
 * are those whose sum was checked.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "../lib/manifest/manifest-index.h"
#include "leaves/index-runs.h"
#include "util/error.h"

static int
next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct index_runs *index = (struct index_runs *) runs;
  uint64_t left = index->end - index->next;
  int err;

  if (left == 0)
    return ENOENT;
  err = manifest_index_get (index->index, index->next,
                            left < INDEX_RUNS_MAX ? left : INDEX_RUNS_MAX,
                            index->leaves, run);
  if (err)
    error_about (index->error, index->name, "%s", err == ESTALE
                 ? "it was modified while it was used" : strerror (err));
  else
    index->next += run->count;
  return err;
}

void
index_runs_init (struct index_runs *runs, struct manifest_index *index,
                 const char *name, struct error *error)
{
  uint64_t size = manifest_index_size (index);
  uint32_t block_size =
    blkhash_opts_get_block_size (manifest_index_opts (index));

  runs->runs.next = next;
  runs->index = index;
  runs->name = name;
  runs->next = 0;
  runs->end = size / block_size + (size % block_size != 0);
  runs->error = error;
}
