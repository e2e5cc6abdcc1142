/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check vdi images: see formats.h.
 *
 * A vdi image is a header, a map with an entry for each block of the disk, and
 * blocks.  It cannot name another file, but it can have the UUID of a parent,
 * without which it is not the disk.  qemu refuses most of these, and here they
 * are refused with a better message.  All other checks are left to qemu.
 */

#include <config.h>

#include <inttypes.h>

#include "../lib/common/util.h"
#include "format/formats.h"
#include "format/imagefile.h"

#define CHUNK 65536             /* bytes of the map read at a time */
#define BLOCK_SIZE (UINT64_C (1) << 20) /* the only block size that qemu
                                         * accepts */
#define MAX_BLOCKS UINT32_C (0x3fffffff) /* limit of qemu */
#define DIFFERENCING 4          /* type: the image has a parent */
#define DISCARDED UINT32_C (0xfffffffe) /* an entry with this value or a
                                         * larger one: no data */

struct vdi {
  uint64_t map_offset, data_offset, size;
};

/* Check the blocks whose entries are the LEN bytes of MAP.  The first of these
 * blocks is at offset GUEST of the disk.
 */
static int
check_map (const struct imagefile *file, const struct vdi *vdi,
           const unsigned char *map, size_t len, uint64_t guest,
           struct error *error)
{
  for (size_t i = 0; i < len; i += 4, guest += BLOCK_SIZE) {
    uint32_t block = le32_at (map + i);

    if (block < DISCARDED &&
        imagefile_check (file, "a block",
                         vdi->data_offset + block * BLOCK_SIZE,
                         MIN (BLOCK_SIZE, vdi->size - guest), error) == -1)
      return -1;
  }
  return 0;
}

int
vdi_check (const struct imagefile *file, uint64_t *size, struct error *error)
{
  unsigned char head[512], map[CHUNK];
  struct vdi vdi;
  uint64_t blocks, len;

  if (imagefile_read (file, "the vdi header", head, sizeof head, 0,
                      error) == -1)
    return -1;
  if (le32_at (head + 76) == DIFFERENCING || le64_at (head + 424) ||
      le64_at (head + 432) || le64_at (head + 440) || le64_at (head + 448))
    return imagefile_error (file, error, "refused because it is a "
                            "differencing vdi image, which needs its parent, "
                            "and qemu does not read that: convert it to an "
                            "image without a parent (with VBoxManage "
                            "clonemedium, for instance), or use -f raw to "
                            "hash the bytes of this file");
  vdi.map_offset = le32_at (head + 340);
  vdi.data_offset = le32_at (head + 344);
  vdi.size = le64_at (head + 368);
  blocks = vdi.size / BLOCK_SIZE + (vdi.size % BLOCK_SIZE != 0);
  if (le32_at (head + 376) != BLOCK_SIZE || blocks > MAX_BLOCKS ||
      blocks > le32_at (head + 384))
    return imagefile_error (file, error, "the vdi header is corrupt or not "
                            "supported: a disk of %" PRIu64 " bytes in "
                            "%" PRIu32 " blocks of %" PRIu32 " bytes",
                            vdi.size, le32_at (head + 384),
                            le32_at (head + 376));
  /* qemu reads the whole map, whose size is recorded in the header. */
  if (imagefile_check_table (file, "the block map", vdi.map_offset,
                             UINT64_C (4) * le32_at (head + 384),
                             error) == -1)
    return -1;
  len = blocks * 4;
  for (uint64_t done = 0; done < len; done += CHUNK) {
    size_t n = MIN (len - done, CHUNK);

    if (imagefile_read (file, "the block map", map, n,
                        vdi.map_offset + done, error) == -1 ||
        check_map (file, &vdi, map, n, done / 4 * BLOCK_SIZE, error) == -1)
      return -1;
  }
  *size = vdi.size;
  return 0;
}
