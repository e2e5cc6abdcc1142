/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check vpc images: see formats.h.
 *
 * The image ends with a footer that has the type of the disk: fixed, dynamic,
 * or differencing, that is, with a parent.  All but fixed images have a copy of
 * the footer at the start.  If there is a copy, qemu (7.2) uses it, and reads
 * the image as a dynamic one whatever the type is, so the data of a parent
 * would be read as zeros.  So the type in the copy must be dynamic, and a
 * footer at the end, if there is one, must have the same type.
 *
 * The footer has the size of the disk twice: in bytes (the current size), and
 * as a geometry of cylinders, heads and sectors (CHS), which can be less by
 * almost 2 MiB.  Hyper-V, libvhdi and 7-Zip use the current size.  By default
 * qemu uses the geometry, unless it knows that the program that created the
 * image uses the current size.  blksum makes qemu use the current size (see
 * qemuopts.c), and warns if a copy by qemu has another size.
 *
 * qemu compares the end of the blocks with the size of the file, but rounds the
 * size up to a sector, so the exact size is compared here.  A fixed image is
 * the disk followed by the only footer.  qemu does not compare the size in the
 * footer with the file, and reads a footer whose end is missing.
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "../lib/common/util.h"
#include "format/formats.h"
#include "format/imagefile.h"

#define SECTOR UINT64_C (512)
#define FOOTER 64               /* bytes of the footer that are read here */
#define SHORT_FOOTER 511        /* bytes that old versions of Virtual PC wrote
                                 * instead of 512 */
#define MAX_GEOMETRY (UINT64_C (65535) * 16 * 255) /* sectors; qemu does not use
                                                    * this geometry */

#define CHUNK 16384             /* bytes of the table in one read */

enum { FIXED = 2, DYNAMIC = 3, DIFFERENCING = 4 };

/* Is there a footer at OFFSET?  If so, FOOTER has its first FOOTER bytes. */
static enum answer
read_footer (const struct imagefile *file, uint64_t offset,
             unsigned char *footer, struct error *error)
{
  if (!imagefile_holds (file, offset, FOOTER))
    return ANSWER_NO;
  if (imagefile_read (file, "the vpc footer", footer, FOOTER, offset,
                      error) == -1)
    return ANSWER_FAILED;
  return memcmp (footer, "conectix", 8) == 0 ? ANSWER_YES : ANSWER_NO;
}

/* Returns the current size of the disk in bytes. */
static uint64_t
size_of (const unsigned char *footer)
{
  return be64_at (footer + 48);
}

static int
check_type (const struct imagefile *file, const unsigned char *footer,
            uint32_t expected, struct error *error)
{
  uint32_t type = be32_at (footer + 60);

  if (type == expected)
    return 0;
  if (type == DYNAMIC)
    return imagefile_error (file, error, "refused because it is a dynamic vpc "
                            "image whose first footer is lost, so that -f vpc "
                            "cannot read it; -f raw hashes the bytes of this "
                            "file");
  if (type == DIFFERENCING)
    return imagefile_error (file, error, "refused because it is a "
                            "differencing vpc image, which needs its parent, "
                            "and qemu does not read that: merge the two (with "
                            "Merge-VHD of Hyper-V, for instance), or use "
                            "-f raw to hash the bytes of this file");
  return imagefile_error (file, error, "refused because the vpc image is "
                          "corrupt or not supported: its disk has the type %"
                          PRIu32 ", where %" PRIu32 " is expected; -f raw "
                          "hashes the bytes of this file", type, expected);
}

/* Does qemu use the geometry by default?  The list of the programs that use the
 * current size is that of qemu 7.2; a later version can have more.
 */
static bool
qemu_uses_geometry (const unsigned char *footer)
{
  static const char creators[][4] = {
    "win ", "qem2", "d2v ", "tap\0", "CTXS"
  };

  for (size_t i = 0; i < sizeof creators / sizeof creators[0]; i++)
    if (memcmp (footer + 28, creators[i], sizeof creators[i]) == 0)
      return false;
  return true;
}

/* Set WARNING if a copy of the image by qemu has another size. */
static void
compare_geometry (const struct imagefile *file, const unsigned char *footer,
                  struct error *warning)
{
  uint32_t geometry = be32_at (footer + 56);
  uint64_t sectors = (uint64_t) (geometry >> 16) * (geometry >> 8 & 0xff) *
    (geometry & 0xff);

  if (qemu_uses_geometry (footer) && sectors != MAX_GEOMETRY &&
      sectors * SECTOR != size_of (footer))
    imagefile_error (file, warning, "the disk has %" PRIu64 " bytes, but %"
                     PRIu64 " by its geometry (CHS), which qemu-img uses: its "
                     "copy will be FAILED; with "
                     "force_size_calc=current_size it copies all",
                     size_of (footer), sectors * SECTOR);
}

/* Check that the file has the blocks of a table.  The table is at OFFSET, and
 * has the sectors of blocks of BLOCK bytes.  A block is stored as a bitmap of
 * its sectors, followed by all its sectors, even those after the end of the
 * disk.
 */
static int
check_blocks (const struct imagefile *file, uint64_t offset, uint32_t entries,
              uint64_t block, struct error *error)
{
  uint64_t len = ROUND_UP (block / (8 * SECTOR), SECTOR) + block;
  unsigned char chunk[CHUNK];

  while (entries > 0) {
    size_t n = MIN (entries, sizeof chunk / 4);

    if (imagefile_read (file, "the block allocation table", chunk, n * 4,
                        offset, error) == -1)
      return -1;
    for (size_t i = 0; i < n; i++) {
      uint32_t sector = be32_at (chunk + i * 4);

      if (sector != UINT32_MAX &&
          imagefile_check (file, "a block", sector * SECTOR, len, error) == -1)
        return -1;
    }
    entries -= n;
    offset += n * 4;
  }
  return 0;
}

/* Check the blocks, and the size of their table, because qemu reads the whole
 * table when it opens the image.
 */
static int
check_table (const struct imagefile *file, struct error *error)
{
  unsigned char footer[SECTOR], header[36];
  uint64_t offset;
  uint32_t entries;

  if (imagefile_read (file, "the vpc footer", footer, sizeof footer, 0,
                      error) == -1 ||
      imagefile_read (file, "the vpc header", header, sizeof header,
                      be64_at (footer + 16), error) == -1)
    return -1;
  offset = be64_at (header + 16);
  entries = be32_at (header + 28);
  if (imagefile_check_table (file, "the block allocation table", offset,
                             UINT64_C (4) * entries, error) == -1)
    return -1;
  return check_blocks (file, offset, entries, be32_at (header + 32), error);
}

/* Check the copies of the footer: FIRST, which is NULL if there is none, and
 * LAST, at offset END.
 */
static int
check_footers (const struct imagefile *file, const unsigned char *first,
               const unsigned char *last, uint64_t end, struct error *error)
{
  if (first && check_type (file, first, DYNAMIC, error) == -1)
    return -1;
  if (last && check_type (file, last, first ? DYNAMIC : FIXED, error) == -1)
    return -1;
  if (first && last && size_of (first) != size_of (last))
    return imagefile_error (file, error, "refused because the vpc image is "
                            "corrupt: its first footer has a disk of %" PRIu64
                            " bytes, and its last one of %" PRIu64 "; -f raw "
                            "hashes the bytes of this file", size_of (first),
                            size_of (last));
  if (!first && size_of (last) != end)
    return imagefile_error (file, error, "refused because the vpc image is "
                            "truncated or corrupt: its disk has %" PRIu64
                            " bytes, but %" PRIu64 " are before the footer; "
                            "-f raw hashes the bytes of this file",
                            size_of (last), end);
  return first ? 0 : imagefile_check (file, "the vpc footer", end,
                                      SHORT_FOOTER, error);
}

int
vpc_check (const struct imagefile *file, uint64_t *size,
           struct error *warning, struct error *error)
{
  uint64_t end = file->size > 0 ? (file->size - 1) / SECTOR * SECTOR : 0;
  unsigned char first[FOOTER], last[FOOTER];
  enum answer has_first = read_footer (file, 0, first, error);
  enum answer has_last = has_first == ANSWER_FAILED ? has_first
    : read_footer (file, end, last, error);

  *size = 0;
  if (has_last == ANSWER_FAILED)
    return -1;
  if (!has_first && !has_last)
    return 0;
  if (check_footers (file, has_first ? first : NULL, has_last ? last : NULL,
                     end, error) == -1 ||
      (has_first && check_table (file, error) == -1))
    return -1;
  *size = size_of (has_first ? first : last);
  compare_geometry (file, has_first ? first : last, warning);
  return 0;
}
