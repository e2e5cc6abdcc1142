/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check vhdx images, and map them: see formats.h.
 *
 * When qemu opens the image, it checks that the blocks in the block allocation
 * table (BAT) lie inside the file.  It does not check that the BAT itself lies
 * inside the file: a truncated BAT reads as zeros, like the BAT of an empty
 * disk.  qemu also rounds the size of the file up to whole sectors.  So all are
 * compared here with the true size.  More bytes after them do no harm.
 *
 * Checksums and the log are not checked here.  Before a sum of the image is
 * accepted, qemu opens the image read-only, and refuses it if a checksum is
 * wrong, or if the log contains changes that would first have to be written to
 * the tables.
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "../lib/common/util.h"
#include "format/formats.h"
#include "format/imagefile.h"

#define MIB (UINT64_C (1) << 20)
#define TIB (UINT64_C (1) << 40)

#define REGIONS_OFFSET 196608   /* offset of the region table that qemu reads */
#define TABLE_SIZE 65536        /* size of the region table, and of the
                                 * metadata table */
#define TABLE_ENTRY 32
#define MAX_ENTRIES 2047
#define SECTOR 512
#define BIG_SECTOR 4096
#define CHUNK_SECTORS (UINT64_C (1) << 23) /* sectors of the disk in a chunk */

/* The size of the BAT of a disk of 64 TiB with blocks of 1 MiB, including the
 * entries between the chunks, rounded up to whole MiB.  The size is limited
 * because qemu keeps the whole BAT in memory.
 */
#define MAX_BAT (513 * MIB)

#define HAS_PARENT 2            /* flag: the image has a parent */

/* The block allocation table (BAT) has an entry of 64 bits for each block of
 * the disk, in order.  After the entries of each chunk of blocks there is an
 * additional entry, which is used only by images with a parent.
 */
#define VHDX_BAT_NAME "the block allocation table"
#define VHDX_ENTRY 8            /* size of an entry in bytes */
#define VHDX_STATE 7            /* mask of the state; the next macro is the
                                 * mask of the offset */
#define VHDX_OFFSET (~UINT64_C (0xfffff))

/* States of a block.  All other values are invalid. */
enum {
  VHDX_NOT_PRESENT = 0,
  VHDX_UNDEFINED = 1,
  VHDX_ZERO = 2,
  VHDX_UNMAPPED = 3,
  VHDX_UNMAPPED_OLD = 5,        /* as in version 0.95 of the specification */
  VHDX_PRESENT = 6,
  VHDX_PARTIALLY_PRESENT = 7    /* the rest of the block is in the parent */
};

struct region {
  uint64_t offset;
  uint32_t len;
};

static const unsigned char bat_guid[16] = {
  0x66, 0x77, 0xc2, 0x2d, 0x23, 0xf6, 0x00, 0x42,
  0x9d, 0x64, 0x11, 0x5e, 0x9b, 0xfd, 0x4a, 0x08
};
static const unsigned char metadata_guid[16] = {
  0x06, 0xa2, 0x7c, 0x8b, 0x90, 0x47, 0x9a, 0x4b,
  0xb8, 0xfe, 0x57, 0x5f, 0x05, 0x0f, 0x88, 0x6e
};
static const unsigned char parameters_guid[16] = {
  0x37, 0x67, 0xa1, 0xca, 0x36, 0xfa, 0x43, 0x4d,
  0xb3, 0xb6, 0x33, 0xf0, 0xaa, 0x44, 0xe7, 0x6b
};
static const unsigned char size_guid[16] = {
  0x24, 0x42, 0xa5, 0x2f, 0x1b, 0xcd, 0x76, 0x48,
  0xb2, 0x11, 0x5d, 0xbe, 0xd8, 0x3b, 0xf4, 0xb8
};
static const unsigned char sector_guid[16] = {
  0x1d, 0xbf, 0x41, 0x81, 0x6f, 0xa9, 0x09, 0x47,
  0xba, 0x47, 0xf2, 0x33, 0xa8, 0xfa, 0xab, 0x5f
};

/* Find the entry for GUID in TABLE, which has COUNT entries after a header of
 * HEADER bytes.  Returns NULL if there is none.  qemu refuses a table with two
 * entries for the same GUID.
 */
static const unsigned char *
find_entry (const unsigned char *table, size_t header, uint32_t count,
            const unsigned char guid[16])
{
  for (uint32_t i = 0; i < count; i++)
    if (memcmp (table + header + i * TABLE_ENTRY, guid, 16) == 0)
      return table + header + i * TABLE_ENTRY;
  return NULL;
}

/* ---- Regions ---- */

static int
find_region (const struct imagefile *file, const unsigned char *table,
             const unsigned char guid[16], const char *what,
             struct region *region, struct error *error)
{
  const unsigned char *entry = find_entry (table, 16, le32_at (table + 8),
                                           guid);

  if (!entry)
    return imagefile_error (file, error, "%s of the vhdx image is missing",
                            what);
  region->offset = le64_at (entry + 16);
  region->len = le32_at (entry + 24);
  return imagefile_check (file, what, region->offset, region->len, error);
}

static int
read_regions (const struct imagefile *file, struct region *bat,
              struct region *metadata, struct error *error)
{
  unsigned char table[TABLE_SIZE];

  if (imagefile_read (file, "the region table", table, sizeof table,
                      REGIONS_OFFSET, error) == -1)
    return -1;
  if (memcmp (table, "regi", 4) != 0 || le32_at (table + 8) > MAX_ENTRIES)
    return imagefile_error (file, error, "the vhdx region table is corrupt");
  if (find_region (file, table, bat_guid, VHDX_BAT_NAME, bat, error) == -1 ||
      find_region (file, table, metadata_guid, "the metadata", metadata,
                   error) == -1)
    return -1;
  if (bat->offset % MIB != 0 || bat->len > MAX_BAT)
    return imagefile_error (file, error, "the vhdx region table is corrupt: "
                            "a block allocation table of %" PRIu32 " bytes at "
                            "offset %" PRIu64, bat->len, bat->offset);
  return 0;
}

/* ---- Metadata ---- */

/* Read LEN bytes of the metadata item GUID. */
static int
read_item (const struct imagefile *file, const struct region *metadata,
           const unsigned char *table, const unsigned char guid[16],
           void *item, size_t len, struct error *error)
{
  const unsigned char *entry = find_entry (table, TABLE_ENTRY,
                                           table[10] | table[11] << 8, guid);

  if (!entry)
    return imagefile_error (file, error, "the vhdx metadata is incomplete");
  return imagefile_read (file, "the metadata", item, len,
                         metadata->offset + le32_at (entry + 16), error);
}

static int
check_sizes (const struct imagefile *file, const struct vhdx *vhdx,
             uint32_t sector, struct error *error)
{
  uint32_t block = vhdx->block_size;

  if (block < MIB || block > 256 * MIB || (block & (block - 1)) != 0 ||
      (sector != SECTOR && sector != BIG_SECTOR) ||
      vhdx->size > 64 * TIB || vhdx->size % sector != 0)
    return imagefile_error (file, error, "the vhdx metadata is corrupt: a "
                            "disk of %" PRIu64 " bytes in blocks of %" PRIu32
                            ", sectors of %" PRIu32, vhdx->size, block,
                            sector);
  if (sector != SECTOR)
    return imagefile_error (file, error, "the disk has sectors of %" PRIu32
                            " bytes, which qemu cannot read", sector);
  return 0;
}

static int
read_metadata (const struct imagefile *file, const struct region *metadata,
               struct vhdx *vhdx, struct error *error)
{
  unsigned char table[TABLE_SIZE], parameters[8], size[8], sector[4];

  if (imagefile_read (file, "the metadata", table, sizeof table,
                      metadata->offset, error) == -1)
    return -1;
  if (memcmp (table, "metadata", 8) != 0 ||
      (table[10] | table[11] << 8) > MAX_ENTRIES)
    return imagefile_error (file, error, "the vhdx metadata is corrupt");
  if (read_item (file, metadata, table, parameters_guid, parameters,
                 sizeof parameters, error) == -1 ||
      read_item (file, metadata, table, size_guid, size, sizeof size,
                 error) == -1 ||
      read_item (file, metadata, table, sector_guid, sector, sizeof sector,
                 error) == -1)
    return -1;
  if (le32_at (parameters + 4) & HAS_PARENT)
    return imagefile_error (file, error, "the vhdx image has a parent, which "
                            "qemu cannot read");
  vhdx->size = le64_at (size);
  vhdx->block_size = le32_at (parameters);
  if (check_sizes (file, vhdx, le32_at (sector), error) == -1)
    return -1;
  vhdx->chunk = CHUNK_SECTORS * SECTOR / vhdx->block_size;
  return 0;
}

/* ---- Blocks ---- */

/* Returns the kind of the block that ENTRY maps, or RUN_QEMU if the block is
 * partially present, or the entry is invalid.  The specification does not
 * define the content of undefined and unmapped blocks; they are RUN_ZEROS
 * because qemu reads zeros.
 */
static enum run_kind
block_kind (uint64_t entry)
{
  switch (entry & VHDX_STATE) {
  case VHDX_NOT_PRESENT:
  case VHDX_UNDEFINED:
  case VHDX_ZERO:
  case VHDX_UNMAPPED:
  case VHDX_UNMAPPED_OLD:
    return RUN_ZEROS;
  case VHDX_PRESENT:
    /* No block can be at offset 0, where the headers are. */
    return entry & VHDX_OFFSET ? RUN_DATA : RUN_QEMU;
  default:
    return RUN_QEMU;
  }
}

/* Returns the offset in the file of the entry of block N. */
static uint64_t
entry_at (const struct vhdx *vhdx, uint64_t n)
{
  return vhdx->bat + (n + n / vhdx->chunk) * VHDX_ENTRY;
}

/* Check the BAT entry of block N. */
static int
check_block (const struct imagefile *file, const struct vhdx *vhdx,
             uint64_t n, uint64_t entry, struct error *error)
{
  uint64_t offset = entry & VHDX_OFFSET;
  uint64_t rest = vhdx->size - n * vhdx->block_size;

  switch (block_kind (entry)) {
  case RUN_DATA:
    return imagefile_check (file, "a block", offset,
                            MIN (rest, vhdx->block_size), error);
  case RUN_ZEROS:
    return 0;
  default:
    break;
  }
  if ((entry & VHDX_STATE) == VHDX_PARTIALLY_PRESENT)
    return imagefile_error (file, error, "the vhdx image is corrupt: block %"
                            PRIu64 " is partly in a parent, which it does not "
                            "have", n);
  return imagefile_error (file, error, "the vhdx image is corrupt: block %"
                          PRIu64 " has state %d at offset %" PRIu64, n,
                          (int) (entry & VHDX_STATE), offset);
}

/* Check the BAT entries of all blocks.  The entries between chunks are skipped.
 */
static int
check_blocks (const struct imagefile *file, const struct vhdx *vhdx,
              uint64_t blocks, struct error *error)
{
  unsigned char piece[8192];
  uint64_t n = 0;

  while (n < blocks) {
    uint64_t in_chunk = vhdx->chunk - n % vhdx->chunk;
    uint64_t count = MIN (MIN (in_chunk, blocks - n),
                          sizeof piece / VHDX_ENTRY);

    if (imagefile_read (file, VHDX_BAT_NAME, piece, count * VHDX_ENTRY,
                        entry_at (vhdx, n), error) == -1)
      return -1;
    for (uint64_t i = 0; i < count; i++, n++)
      if (check_block (file, vhdx, n, le64_at (piece + i * VHDX_ENTRY),
                       error) == -1)
        return -1;
  }
  return 0;
}

/* ---- The image ---- */

int
vhdx_check (const struct imagefile *file, struct vhdx *vhdx,
            struct error *error)
{
  struct region bat, metadata;
  uint64_t blocks;

  if (read_regions (file, &bat, &metadata, error) == -1 ||
      read_metadata (file, &metadata, vhdx, error) == -1)
    return -1;
  vhdx->bat = bat.offset;
  blocks = DIV_ROUND_UP (vhdx->size, vhdx->block_size);
  if (blocks > 0 &&
      entry_at (vhdx, blocks - 1) + VHDX_ENTRY > bat.offset + bat.len)
    return imagefile_error (file, error, "the vhdx block allocation table is "
                            "too small for %" PRIu64 " blocks", blocks);
  return check_blocks (file, vhdx, blocks, error);
}

/* ---- The map of the disk ---- */

/* Set RUN to the rest of a block from its offset IN_BLOCK on.  ENTRY is the
 * entry of the block.
 */
static void
block_at (const struct vhdx *vhdx, uint64_t entry, uint64_t in_block,
          struct run *run)
{
  run->len = vhdx->block_size - in_block;
  run->host = (entry & VHDX_OFFSET) + in_block;
  run->kind = block_kind (entry);
}

/* A run is limited to blocks whose entries are in one page, and in one chunk
 * (see formats.h).
 */
int
vhdx_find_run (struct pages *pages, const struct vhdx *vhdx, uint64_t offset,
               struct run *run, struct error *error)
{
  uint64_t n = offset / vhdx->block_size;
  uint64_t blocks = (vhdx->size - 1) / vhdx->block_size + 1;
  uint64_t chunk_end = (n / vhdx->chunk + 1) * vhdx->chunk;
  uint64_t at = entry_at (vhdx, n), left;
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
