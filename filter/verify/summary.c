/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How much of an export was verified.
 *
 * The size of the plugin's disk is checked when a client connects.  Until then
 * the disk may be the wrong one, so all of it counts as not read, even blocks
 * that are zero in the manifest.
 */

#include <config.h>

#include "verify/disk.h"
#include "verify/export.h"
#include "verify/params.h"
#include "verify/summary.h"

/* Returns the bytes of the blocks in STATE.  The last block of the disk can be
 * shorter.
 */
static uint64_t
bytes_of (const struct disk *disk, const struct tally_counts *counts,
          enum block_state state)
{
  uint64_t bytes = counts->blocks[state] * disk->block_size;
  uint64_t excess = disk->blocks * disk->block_size - disk->size;

  return disk->blocks > 0 && counts->last == state ? bytes - excess : bytes;
}

void
summary_get_locked (const struct export *export, struct summary *summary)
{
  struct disk *disk = export->disk;
  struct tally_counts counts;

  *summary = (struct summary) { .missing = disk->size };
  if (!export->connected)
    return;
  tally_get_counts (&disk->tally, &counts);
  *summary = (struct summary) {
    .verified = bytes_of (disk, &counts, BLOCK_OK),
    .differs = bytes_of (disk, &counts, BLOCK_DIFFERS),
    .unreadable = bytes_of (disk, &counts, BLOCK_UNREADABLE),
    .repaired = bytes_of (disk, &counts, BLOCK_REPAIRED),
    .unreadable_repaired = bytes_of (disk, &counts, BLOCK_UNREADABLE_REPAIRED),
    .missing = bytes_of (disk, &counts, BLOCK_MISSING),
    .missing_zero = verify_params.zero == ZERO_SKIP ? disk->zeros : 0,
    .transient = counts.transient,
  };
  summary->missing -= summary->missing_zero;
  summary->ok = summary->verified == disk->size;
}
