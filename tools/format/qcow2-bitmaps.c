/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The bitmaps record which parts of the disk were written since a backup.  They
 * are not part of the content of the disk, but qemu loads all of them when it
 * opens the image.  An entry of a bitmap table, 8 bytes, can stand for a whole
 * cluster of ones, so a small image can make qemu allocate any amount of
 * memory.  An image is refused here only if the bitmaps take too much memory,
 * if an error makes it impossible to count, or if the bitmap tables together
 * are larger than the file, which limits the time.  qemu reports all other
 * errors.
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>

#include "../lib/common/util.h"
#include "format/imagefile.h"
#include "format/qcow2-bitmaps.h"
#include "format/qcow2.h"

#define CHUNK 65536             /* bytes of a table read at a time */
#define IN_USE UINT32_C (1)     /* flag: the bitmap was not saved, and qemu
                                 * does not load its data */
#define MAX_GRANULARITY_BITS 31

struct bitmap_walk {
  const struct imagefile *file;
  const struct qcow2 *qcow2;
  struct error *error;
  uint64_t memory;              /* bytes that qemu allocates for the bitmaps
                                 * counted so far */
  uint64_t table_bytes;         /* size of the tables of these bitmaps */
  unsigned char table[CHUNK];
};

/* Count the memory of a bitmap of SIZE bytes, whose table is at OFFSET and has
 * ENTRIES entries.  An entry that is zero stands for a cluster of zeros, which
 * is not counted, because the kernel allocates no pages for it.
 */
static int
count_table (struct bitmap_walk *w, uint64_t offset, uint32_t entries,
             uint64_t size)
{
  uint64_t len = UINT64_C (8) * entries;
  uint64_t cluster = qcow2_cluster_size (w->qcow2);

  if (imagefile_check_table (w->file, "a bitmap table", offset, len,
                             w->error) == -1)
    return -1;
  w->table_bytes += len;
  if (w->table_bytes > w->file->size)
    return imagefile_error (w->file, w->error, "the image is corrupt: bitmap "
                            "tables overlap");

  for (uint64_t done = 0; done < len; done += CHUNK) {
    size_t n = MIN (len - done, CHUNK);

    if (imagefile_read (w->file, "a bitmap table", w->table, n, offset + done,
                        w->error) == -1)
      return -1;
    for (size_t i = 0; i < n && size > 0; i += 8) {
      uint64_t part = MIN (size, cluster);

      if (be64_at (w->table + i) != 0)
        w->memory += part;
      size -= part;
    }
  }
  return 0;
}

static int
count_bitmap (struct bitmap_walk *w, const unsigned char *entry)
{
  unsigned granularity_bits = entry[17];
  uint64_t unit;

  if (be32_at (entry + 12) & IN_USE)
    return 0;
  if (granularity_bits > MAX_GRANULARITY_BITS)
    return imagefile_error (w->file, w->error, "the image is corrupt: a "
                            "bitmap has a granularity of 2^%u",
                            granularity_bits);
  /* The number of bytes of the disk that one byte of the bitmap covers. */
  unit = UINT64_C (8) << granularity_bits;
  if (count_table (w, be64_at (entry), be32_at (entry + 8),
                   w->qcow2->size / unit +
                   (w->qcow2->size % unit != 0)) == -1)
    return -1;
  if (w->memory > IMAGEFILE_TABLE_MAX)
    return imagefile_error (w->file, w->error, "refused because the bitmaps "
                            "of the qcow2 image take more than %" PRIu64
                            " MiB of memory in qemu: 'qemu-img bitmap --remove "
                            "IMAGE NAME' removes a bitmap",
                            IMAGEFILE_TABLE_MAX >> 20);
  return 0;
}

static int
check_directory (struct bitmap_walk *w)
{
  const struct qcow2 *qcow2 = w->qcow2;
  uint64_t done = 0;

  for (uint32_t i = 0; i < qcow2->nr_bitmaps; i++) {
    unsigned char entry[24];

    if (done + sizeof entry > qcow2->bitmap_directory_size)
      return imagefile_error (w->file, w->error, "the image is corrupt: the "
                              "bitmap directory is shorter than its entries");
    if (imagefile_read (w->file, "the bitmap directory", entry,
                        sizeof entry, qcow2->bitmap_directory_offset + done,
                        w->error) == -1 ||
        count_bitmap (w, entry) == -1)
      return -1;
    /* Skip the name and the extra data. */
    done += sizeof entry + (entry[18] << 8 | entry[19]) + be32_at (entry + 20);
    done = (done + 7) & ~UINT64_C (7);
  }
  return 0;
}

int
qcow2_check_bitmaps (const struct imagefile *file, const struct qcow2 *qcow2,
                     struct error *error)
{
  struct bitmap_walk *w;
  int r;

  if (qcow2->nr_bitmaps == 0)
    return 0;
  if (imagefile_check (file, "the bitmap directory",
                       qcow2->bitmap_directory_offset,
                       qcow2->bitmap_directory_size, error) == -1)
    return -1;
  w = malloc (sizeof *w);
  if (!w)
    return imagefile_error (file, error, "out of memory");
  w->file = file;
  w->qcow2 = qcow2;
  w->error = error;
  w->memory = w->table_bytes = 0;
  r = check_directory (w);
  free (w);
  return r;
}
