/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A qcow2 image: its header, the entries of its L2 tables, which map a disk of
 * clusters to the file, and the memory of its bitmaps.  qcow2-check.h checks
 * that the file is complete.
 */

#ifndef BLKSUM_QCOW2_H
#define BLKSUM_QCOW2_H

#include <stdbool.h>
#include <stdint.h>

#include "../lib/common/util.h"
#include "format/imagefile.h"

struct qcow2 {
  uint32_t version;             /* 2 or 3 */
  unsigned cluster_bits;        /* 9 to 21 */
  uint64_t size;                /* size of the disk in bytes */
  uint64_t l1_offset;           /* offset of the L1 table in the file, bytes */
  bool encrypted;
  bool extended_l2;
  unsigned char compression;    /* compression type, see qcow2-check.h */
  bool has_bitmaps;             /* if not set, the three fields below are 0 */
  uint32_t nr_bitmaps;          /* number of bitmaps */
  uint64_t bitmap_directory_offset, bitmap_directory_size; /* in the file, in
                                                            * bytes */
  bool has_data_file;           /* the clusters are in an external data file */
  char backing[1024];           /* empty: no backing file */
  char backing_format[16];      /* empty: not recorded */
  char data_file[4096];         /* empty: not recorded */
};

/* Mask of the host offset in an L1 or L2 entry. */
#define QCOW2_OFFSET UINT64_C (0x00fffffffffffe00)

/* The flag COPIED of such an entry: the cluster has exactly one reference. */
#define QCOW2_COPIED (UINT64_C (1) << 63)

static inline uint64_t
qcow2_cluster_size (const struct qcow2 *qcow2)
{
  return UINT64_C (1) << qcow2->cluster_bits;
}

static inline unsigned
qcow2_l2_entry_size (const struct qcow2 *qcow2)
{
  return qcow2->extended_l2 ? 16 : 8;
}

/* Returns log2 of the number of bytes of the disk that one L2 table maps. */
static inline unsigned
qcow2_l2_table_bits (const struct qcow2 *qcow2)
{
  return 2 * qcow2->cluster_bits - (qcow2->extended_l2 ? 4 : 3);
}

/* Returns the number of L2 tables that map the whole disk. */
static inline uint64_t
qcow2_l2_tables (const struct qcow2 *qcow2)
{
  return DIV_ROUND_UP (qcow2->size,
                       UINT64_C (1) << qcow2_l2_table_bits (qcow2));
}

/* Read and check the header.  An image is refused if it is marked as corrupt,
 * or needs an unknown feature.  Returns 0, or -1 on error.
 */
int qcow2_read_header (const struct imagefile *file, struct qcow2 *qcow2,
                       struct error *error);

/* Prefetch the L2 tables of the L1 entries from INDEX on, up to a fixed number.
 * ENTRY points to the entry at INDEX, the first of COUNT entries.  *NEXT is the
 * first index whose table was not prefetched yet; it must be 0 before the first
 * call.
 */
void qcow2_prefetch (const struct imagefile *file, const struct qcow2 *qcow2,
                     const unsigned char *entry, uint64_t index,
                     uint64_t count, uint64_t *next);

/* ---- An entry of an L2 table, which maps a cluster of the disk ---- */

#define QCOW2_SUBCLUSTERS 32

struct qcow2_entry {
  bool compressed;
  bool regular;                 /* no reserved bit of the entry is set, and all
                                 * its fields are valid */
  uint64_t host;                /* offset of the data of the cluster in the
                                 * file */
  uint64_t len;                 /* length of this data, only if COMPRESSED */

  /* If the cluster is not compressed: the bitmap of the subclusters whose data
   * is stored at HOST, and the bitmap of those that read as zeros.  The other
   * subclusters are unallocated.  Without extended L2 entries all bits of a
   * bitmap are equal.
   */
  uint32_t allocated, zero;
};

/* Decode the entry at BYTES.  An irregular entry is decoded as qemu decodes it,
 * because qemu does not check every reserved bit and may read the cluster.
 */
void qcow2_entry_decode (const struct qcow2 *qcow2,
                         const unsigned char *bytes,
                         struct qcow2_entry *entry);

/* ---- The map of the disk ---- */

/* Returns true if an image with this header can be mapped.  It cannot be mapped
 * if the content is encrypted or in another file, if clusters are smaller than
 * a page (see imagefile.h), if the disk is empty or does not end with a whole
 * sector, or if the L1 table is not aligned to a cluster.
 */
static inline bool
qcow2_map_fits (const struct qcow2 *qcow2)
{
  return qcow2->cluster_bits >= PAGES_BITS && qcow2->size > 0 &&
    qcow2->size % 512 == 0 && !qcow2->encrypted && !qcow2->has_data_file &&
    qcow2->l1_offset % qcow2_cluster_size (qcow2) == 0;
}

/* Map OFFSET on the disk, which must be less than the size of the disk: set RUN
 * to the run that starts there, according to the tables in PAGES and the header
 * QCOW2.  The run does not pass the end of the disk.  A run of data that passes
 * the end of the file is an error.  Only one thread at a time may use PAGES.
 * Returns 0, or -1 on error.
 */
int qcow2_find_run (struct pages *pages, const struct qcow2 *qcow2,
                    uint64_t offset, struct run *run, struct error *error);

/* ---- Bitmaps ---- */

/* Refuse an image whose bitmaps would take too much memory in qemu.  Returns 0,
 * or -1 on error.
 */
int qcow2_check_bitmaps (const struct imagefile *file,
                         const struct qcow2 *qcow2, struct error *error);

#endif /* BLKSUM_QCOW2_H */
