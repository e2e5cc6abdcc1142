/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A qcow2 image: parse its header, compute the sizes of its tables, and
 * prefetch its L2 tables.
 */

#ifndef BLKSUM_QCOW2_H
#define BLKSUM_QCOW2_H

#include <stdbool.h>
#include <stdint.h>

#include "format/imagefile.h"

struct qcow2 {
  uint32_t version;             /* 2 or 3 */
  unsigned cluster_bits;        /* 9 to 21 */
  uint64_t size;                /* size of the disk in bytes */
  uint64_t l1_offset;           /* offset of the L1 table in the file, bytes */
  bool encrypted;
  bool extended_l2;
  unsigned char compression;    /* compression type, see qcow2-stream.h */
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

/* N / 2^BITS, rounded up. */
static inline uint64_t
qcow2_div_round_up (uint64_t n, unsigned bits)
{
  return (n >> bits) + ((n & ((UINT64_C (1) << bits) - 1)) != 0);
}

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
  return qcow2_div_round_up (qcow2->size, qcow2_l2_table_bits (qcow2));
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

#endif /* BLKSUM_QCOW2_H */
