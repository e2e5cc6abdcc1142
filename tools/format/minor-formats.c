/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that bochs, cloop, dmg, luks, parallels, qcow and qed images are
 * complete, and limit the memory that qemu allocates for them.
 *
 * qemu (7.2 to 10) reads tables and data beyond the end of a file as zeros, so
 * it would read a truncated image without an error.  qemu compares offsets with
 * the size of the file only for qed, and even there not the offset of each
 * cluster.  qemu allocates tables of the size that is recorded in the header.
 *
 * blksum reads images in these formats only if the user gives the format.  Most
 * headers that qemu refuses are left to it: a function here returns 0 for them.
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "format/imagefile.h"
#include "format/map-check.h"
#include "format/minor-formats.h"

#define SECTOR UINT64_C (512)
#define HEADER 136              /* bytes; the longest header here */
#define DMG_TRAILER 512
#define QED_CACHED_TABLES 50    /* number of L2 tables that qemu keeps, besides
                                 * the L1 table */

/* ---- bochs ----------------------------------------------------------- */

/* An extent is stored as a bitmap of its sectors, followed by all its sectors,
 * even if the disk ends within the extent.
 */
static bool
bochs_data (const struct map *map, uint64_t entry, uint64_t *offset,
            uint64_t *len)
{
  *offset = map_offset (map->data_start, entry, map->multiplier);
  *len = map->multiplier;
  return entry != UINT32_MAX;
}

static uint64_t
bochs_size (const unsigned char *head)
{
  bool first = le32_at (head + 64) == 0x10000; /* version 1 */

  return le64_at (head + (first ? 84 : 88));
}

static int
check_bochs (const struct imagefile *file, const unsigned char *head,
             struct error *error)
{
  uint32_t start = le32_at (head + 68), entries = le32_at (head + 72);
  uint32_t bitmap = le32_at (head + 76), extent = le32_at (head + 80);
  struct map map = {
    .file = file, .width = 4, .find_data = bochs_data, .cluster = extent,
    .disk = bochs_size (head) / SECTOR * SECTOR,
    .data_start = start + UINT64_C (4) * entries,
    .multiplier = (bitmap + SECTOR - 1) / SECTOR * SECTOR + extent,
  };

  if (extent < SECTOR || bitmap == 0)
    return imagefile_error (file, error, "the bochs header is corrupt");
  if (imagefile_check_table (file, "the catalog", start,
                             UINT64_C (4) * entries, error) == -1)
    return -1;
  return map_check (&map, start, entries, error);
}

/* ---- cloop ----------------------------------------------------------- */

/* The table has the offset of each compressed block, and then the offset of the
 * end of the last block.  qemu refuses offsets that are not in order.
 */
static int
check_cloop (const struct imagefile *file, const unsigned char *head,
             struct error *error)
{
  uint64_t blocks = be32_at (head + 132);
  unsigned char end[8];

  if (imagefile_check_table (file, "the table of blocks", HEADER,
                             (1 + blocks) * sizeof end, error) == -1 ||
      imagefile_read (file, "the table of blocks", end, sizeof end,
                      HEADER + blocks * sizeof end, error) == -1)
    return -1;
  return imagefile_check (file, "the end of the blocks", be64_at (end), 0,
                          error);
}

/* ---- dmg ------------------------------------------------------------- */

/* The last 512 bytes are a trailer.  qemu finds it even if its end is missing,
 * and then reads the missing fields as 0.
 */
static int
check_dmg (const struct imagefile *file, const unsigned char *head,
           struct error *error)
{
  unsigned char magic[4];

  (void) head;
  if (file->size < DMG_TRAILER)
    return 0;
  if (imagefile_read (file, "the dmg trailer", magic, sizeof magic,
                      file->size - DMG_TRAILER, error) == -1)
    return -1;
  if (memcmp (magic, "koly", sizeof magic) == 0)
    return 0;
  return imagefile_error (file, error, "the image is truncated, or not a dmg: "
                          "it does not end with the trailer of a dmg");
}

/* ---- luks ------------------------------------------------------------ */

/* The size of the disk is not recorded: it is the size of the file without the
 * header.  So a truncated file is detected only if it ends within the header or
 * within a sector.
 */
static int
check_luks (const struct imagefile *file, const unsigned char *head,
            struct error *error)
{
  if (file->size % SECTOR != 0)
    return imagefile_error (file, error, "the image is truncated: it does not "
                            "end with a full sector");
  return imagefile_check (file, "the encrypted data",
                          be32_at (head + 104) * SECTOR, 0, error);
}

/* ---- parallels ------------------------------------------------------- */

static bool
parallels_data (const struct map *map, uint64_t entry, uint64_t *offset,
                uint64_t *len)
{
  (void) len;
  *offset = map_offset (0, entry, map->multiplier);
  return entry != 0;
}

/* The two magics are "WithoutFreeSpace" and "WithouFreSpacExt".  With the first
 * one, offsets are in sectors, and the size of the disk has 32 bits; with the
 * second one, offsets are in clusters, and the size has 64 bits.
 */
static int
check_parallels (const struct imagefile *file, const unsigned char *head,
                 struct error *error)
{
  bool extended = memcmp (head, "WithouF", 7) == 0;
  uint32_t entries = le32_at (head + 32);
  struct map map = {
    .file = file, .width = 4, .find_data = parallels_data,
    .cluster = le32_at (head + 28) * SECTOR,
    .disk = map_offset (0, extended ? le64_at (head + 36)
                        : le32_at (head + 36), SECTOR),
  };

  map.multiplier = extended ? map.cluster : SECTOR;
  if (map.cluster == 0)
    return 0;
  if (imagefile_check_table (file, "the block allocation table", 64,
                             UINT64_C (4) * entries, error) == -1)
    return -1;
  return map_check (&map, 64, entries, error);
}

/* ---- qcow ------------------------------------------------------------ */

/* The highest bit marks compressed data.  If it is set, the next cluster_bits
 * bits are the length of this data, and all lower bits are its offset.
 */
static bool
qcow_data (const struct map *map, uint64_t entry, uint64_t *offset,
           uint64_t *len)
{
  uint64_t length_unit = (UINT64_C (1) << 63) / map->cluster;

  *offset = entry;
  if (entry >> 63) {
    *offset = entry & (length_unit - 1);
    *len = entry / length_unit & (map->cluster - 1);
  }
  return entry != 0;
}

static uint64_t
qcow_size (const unsigned char *head)
{
  return be64_at (head + 24);
}

static int
check_qcow (const struct imagefile *file, const unsigned char *head,
            struct error *error)
{
  unsigned cluster_bits = head[32], l2_bits = head[33], bits;
  struct map map = {
    .file = file, .width = 8, .big_endian = true, .find_data = qcow_data,
    .disk = qcow_size (head),
  };
  uint64_t offset = be64_at (head + 40), entries;

  if (cluster_bits < 9 || cluster_bits > 16 || l2_bits < 6 || l2_bits > 13)
    return 0;
  bits = cluster_bits + l2_bits;
  entries = (map.disk >> bits) +
    ((map.disk & ((UINT64_C (1) << bits) - 1)) != 0);
  map.cluster = UINT64_C (1) << cluster_bits;
  map.entries = UINT64_C (1) << l2_bits;
  if (imagefile_check_table (file, "the L1 table", offset, entries * 8,
                             error) == -1)
    return -1;
  return map_check_tables (&map, offset, entries, error);
}

/* ---- qed ------------------------------------------------------------- */

static bool
qed_data (const struct map *map, uint64_t entry, uint64_t *offset,
          uint64_t *len)
{
  (void) map;
  (void) len;
  *offset = entry;
  return entry > 1;             /* 0: unallocated, 1: zeros */
}

/* All tables of a qed image have the same size. */
static int
check_qed (const struct imagefile *file, const unsigned char *head,
           struct error *error)
{
  uint64_t len = (uint64_t) le32_at (head + 4) * le32_at (head + 8);
  struct map map = {
    .file = file, .width = 8, .find_data = qed_data,
    .cluster = le32_at (head + 4), .disk = le64_at (head + 48),
    .entries = len / 8,
  };

  if (len > IMAGEFILE_TABLE_MAX / (QED_CACHED_TABLES + 1))
    return imagefile_error (file, error, "refused because the tables of the "
                            "qed image have %" PRIu64 " bytes each: qemu "
                            "keeps up to %d of them in memory", len,
                            QED_CACHED_TABLES + 1);
  if (len < 8)
    return 0;
  if (imagefile_check (file, "the L1 table", le64_at (head + 40), len,
                       error) == -1)
    return -1;
  return map_check_tables (&map, le64_at (head + 40), map.entries, error);
}

/* ---- All formats ----------------------------------------------------- */

int
minor_formats_check (const struct imagefile *file, const char *format,
                     uint64_t *size, struct error *error)
{
  static const struct {
    const char *format, *magic; /* images with another magic are left to qemu */
    size_t header;
    int (*check) (const struct imagefile *, const unsigned char *,
                  struct error *);
    uint64_t (*size) (const unsigned char *); /* of the disk, if in bytes */
  } formats[] = {
    { "bochs", "Bochs Virtual HD Image", 96, check_bochs, bochs_size },
    { "cloop", "", HEADER, check_cloop, NULL },
    { "dmg", "", 0, check_dmg, NULL },
    { "luks", "LUKS\xba\xbe", 108, check_luks, NULL },
    { "parallels", "Witho", 64, check_parallels, NULL },
    { "qcow", "QFI\xfb", 48, check_qcow, qcow_size },
    { "qed", "QED", 64, check_qed, NULL },
  };
  unsigned char head[HEADER];

  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    if (strcmp (format, formats[i].format) != 0)
      continue;
    if (imagefile_read (file, "the header", head, formats[i].header, 0,
                        error) == -1)
      return -1;
    if (memcmp (head, formats[i].magic, strlen (formats[i].magic)) != 0)
      return 0;
    if (formats[i].size)
      *size = formats[i].size (head);
    return formats[i].check (file, head, error);
  }
  return 0;
}
