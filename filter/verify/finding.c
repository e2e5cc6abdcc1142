/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Log ranges of blocks that differ or are unreadable.
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "verify/disk.h"
#include "verify/finding.h"

#define REPAIRED "; repaired for clients, not on the disk"

void
finding_log (const struct finding *finding, const struct disk *disk)
{
  uint64_t bytes = disk_bytes (disk, finding->first, finding->count);
  uint64_t start = finding->first * disk->block_size;

  if (finding->count == 0)
    return;
  if (finding->state == BLOCK_UNREADABLE ||
      finding->state == BLOCK_UNREADABLE_REPAIRED)
    nbdkit_error ("blkhash-verify: %" PRIu64 " bytes at %" PRIu64 " cannot be "
                  "read: %s%s", bytes, start, strerror (finding->err),
                  finding->state == BLOCK_UNREADABLE ? "" : REPAIRED);
  else
    nbdkit_error ("blkhash-verify: %" PRIu64 " bytes at %" PRIu64 " differ "
                  "from %s%s", bytes, start, disk->path,
                  finding->state == BLOCK_DIFFERS ? "" : REPAIRED);
}

void
finding_log_reset (const struct disk *disk, uint64_t block,
                   enum block_state old)
{
  nbdkit_error ("blkhash-verify: %" PRIu64 " bytes at %" PRIu64 " %s when they "
                "were read before; the disk has changed, all other blocks "
                "count as missing", disk_bytes (disk, block, 1),
                block * disk->block_size,
                old == BLOCK_OK ? "did not differ" : "differed");
}

void
finding_add (struct finding *finding, const struct disk *disk, uint64_t block,
             enum block_state state, int err)
{
  if (finding->count > 0 && finding->state == state &&
      finding->first + finding->count == block)
    finding->count++;
  else {
    finding_log (finding, disk);
    *finding = (struct finding) { block, 1, state, err };
  }
}
