/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves in a manifest that can be read at any block, as an iterator.
 */

#ifndef BLKSUM_INDEX_RUNS_H
#define BLKSUM_INDEX_RUNS_H

#include <stdint.h>

#include "../lib/manifest/leaf-runs.h"

#define INDEX_RUNS_MAX 1024     /* blocks of data in a run */

struct error;
struct manifest_index;

struct index_runs {
  struct leaf_runs runs;
  struct manifest_index *index;
  const char *name;             /* precedes the reason */
  uint64_t next, end;           /* blocks */
  struct error *error;          /* receives the reason */
  unsigned char leaves[INDEX_RUNS_MAX * BLKHASH_MAX_MD_SIZE];
};

/* All leaves of INDEX, of the manifest NAME, which was loaded. */
void index_runs_init (struct index_runs *runs, struct manifest_index *index,
                      const char *name, struct error *error);

#endif /* BLKSUM_INDEX_RUNS_H */
