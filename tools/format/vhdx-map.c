/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <stdlib.h>

#include "../lib/common/util.h"
#include "format/vhdx-map.h"

/* Set RUN to the rest of a block from its offset IN_BLOCK on.  ENTRY is the
 * entry of the block.
 */
static void
block_at (const struct vhdx *vhdx, uint64_t entry, uint64_t in_block,
          struct run *run)
{
  run->len = vhdx->block_size - in_block;
  run->host = (entry & VHDX_OFFSET) + in_block;
  run->kind = vhdx_kind (entry);
}

/* A run is limited to blocks whose entries are in one page, and in one chunk
 * (see vhdx.h).
 */
int
vhdx_map_at (struct pages *pages, const struct vhdx *vhdx, uint64_t offset,
             struct run *run, struct error *error)
{
  uint64_t n = offset / vhdx->block_size;
  uint64_t blocks = (vhdx->size - 1) / vhdx->block_size + 1;
  uint64_t chunk_end = (n / vhdx->chunk + 1) * vhdx->chunk;
  uint64_t at = vhdx_entry_at (vhdx, n), left;
  const unsigned char *entry = pages_entry (pages, VHDX_BAT_NAME, at,
                                            VHDX_ENTRY, error);
  struct run next;

  if (!entry)
    return -1;
  block_at (vhdx, le64_at (entry), offset % vhdx->block_size, run);
  left = pages_rest (pages, at, MIN (blocks, chunk_end) - n, VHDX_ENTRY);
  while (--left > 0) {
    block_at (vhdx, le64_at (entry += VHDX_ENTRY), 0, &next);
    if (!run_continues (run, &next))
      break;
    run->len += next.len;
  }
  run->len = MIN (run->len, vhdx->size - offset);
  if (run->kind != RUN_DATA)
    return 0;
  return imagefile_check (pages->file, "a block", run->host, run->len, error);
}
