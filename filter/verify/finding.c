/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Log ranges of blocks that a request found to be bad or unreadable.
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "verify/disk.h"
#include "verify/finding.h"

void
finding_log (const struct finding *finding, const struct disk *disk)
{
  uint64_t bytes = disk_bytes (disk, finding->first, finding->count);
  uint64_t offset = finding->first * disk->block_size;

  if (finding->count == 0)
    return;
  if (finding->state == BLOCK_UNREADABLE)
    nbdkit_error ("blkhash-verify: %" PRIu64 " bytes at %" PRIu64 " cannot be "
                  "read: %s", bytes, offset, strerror (finding->err));
  else if (finding->state == BLOCK_IN_FLIGHT)
    nbdkit_error ("blkhash-verify: %" PRIu64 " bytes at %" PRIu64 " are bad, "
                  "and were repaired in flight", bytes, offset);
  else if (finding->state == BLOCK_UNREADABLE_IN_FLIGHT)
    nbdkit_error ("blkhash-verify: %" PRIu64 " bytes at %" PRIu64 " cannot be "
                  "read: %s; they were repaired in flight", bytes, offset,
                  strerror (finding->err));
  else
    nbdkit_error ("blkhash-verify: %" PRIu64 " bytes at %" PRIu64 " are not "
                  "what %s says", bytes, offset, disk->path);
}

void
finding_log_reset (const struct disk *disk, uint64_t block,
                   enum block_state old)
{
  nbdkit_error ("blkhash-verify: %" PRIu64 " bytes at %" PRIu64 " were %s when "
                "they were read before: the disk has changed, and all other "
                "blocks count as not read", disk_bytes (disk, block, 1),
                block * disk->block_size, old == BLOCK_GOOD ? "right" : "bad");
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
