/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parse the header of a qcow2 image.
 *
 * Everything that is read is untrusted.  The fields that blksum uses are
 * checked against the limits of qemu, so that blksum and qemu read the same
 * from an image that qemu opens.  qemu has more checks, and can still refuse an
 * image that passes these.
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "../lib/common/util.h"
#include "format/imagefile.h"
#include "format/qcow2.h"
#include "io/file.h"
#include "io/prefetch.h"

#define L1_MAX (UINT32_C (32) << 20) /* limit of qemu for the size of the L1
                                      * table, bytes */

/* Incompatible features. */
#define CORRUPT (UINT64_C (1) << 1)
#define DATA_FILE (UINT64_C (1) << 2)
#define EXTENDED_L2 (UINT64_C (1) << 4)
#define ALL_FEATURES UINT64_C (0x1f) /* these, dirty (bit 0), and compression
                                      * type (bit 3) */

#define COMPRESSION 104         /* offset of the compression type, which a
                                 * header of 104 bytes does not have */

/* Autoclear features. */
#define BITMAPS UINT64_C (1)

#define MAX_BITMAPS 65535       /* limit of qemu */

/* Header extensions. */
#define EXT_END UINT32_C (0)
#define EXT_BACKING_FORMAT UINT32_C (0xe2792aca)
#define EXT_BITMAPS UINT32_C (0x23852875)
#define EXT_DATA_FILE UINT32_C (0x44415441)

/* Read a string of LEN bytes into BUF.  As in qemu, the string ends at the
 * first NUL.
 */
static int
read_string (const struct imagefile *file, const char *what,
             uint64_t offset, uint64_t len, char *buf, size_t buf_size,
             struct error *error)
{
  if (len >= buf_size)
    return imagefile_error (file, error, "the qcow2 header is corrupt: %s is "
                            "%" PRIu64 " bytes long", what, len);
  if (imagefile_read (file, what, buf, len, offset, error) == -1)
    return -1;
  buf[len] = '\0';
  return 0;
}

static int
read_bitmaps_extension (const struct imagefile *file, struct qcow2 *qcow2,
                        uint64_t offset, uint32_t len, struct error *error)
{
  unsigned char head[24];

  if (len != sizeof head)
    return imagefile_error (file, error, "the qcow2 header is corrupt: the "
                            "bitmaps extension is %" PRIu32 " bytes long", len);
  if (imagefile_read (file, "a header extension", head, sizeof head, offset,
                      error) == -1)
    return -1;
  qcow2->nr_bitmaps = be32_at (head);
  if (qcow2->nr_bitmaps > MAX_BITMAPS)
    return imagefile_error (file, error, "the qcow2 header is corrupt: it has "
                            "%" PRIu32 " bitmaps, and qemu reads at most %d",
                            qcow2->nr_bitmaps, MAX_BITMAPS);
  qcow2->bitmap_directory_size = be64_at (head + 8);
  qcow2->bitmap_directory_offset = be64_at (head + 16);
  return 0;
}

/* Read the header extensions between OFFSET and END. */
static int
read_extensions (const struct imagefile *file, struct qcow2 *qcow2,
                 uint64_t offset, uint64_t end, struct error *error)
{
  while (offset < end) {
    unsigned char head[8];
    uint32_t type, len;
    int r = 0;

    if (imagefile_read (file, "a header extension", head, sizeof head,
                        offset, error) == -1)
      return -1;
    offset += sizeof head;
    type = be32_at (head);
    len = be32_at (head + 4);
    if (offset > end || len > end - offset)
      return imagefile_error (file, error, "the qcow2 header is corrupt: a "
                              "header extension is too long");
    if (type == EXT_END)
      return 0;
    if (type == EXT_BACKING_FORMAT)
      r = read_string (file, "the name of the format of the backing file",
                       offset, len, qcow2->backing_format,
                       sizeof qcow2->backing_format, error);
    else if (type == EXT_DATA_FILE)
      r = read_string (file, "the name of the data file", offset, len,
                       qcow2->data_file, sizeof qcow2->data_file, error);
    else if (type == EXT_BITMAPS && qcow2->has_bitmaps)
      r = read_bitmaps_extension (file, qcow2, offset, len, error);
    if (r == -1)
      return -1;
    offset += ((uint64_t) len + 7) & ~UINT64_C (7);
  }
  return 0;
}

/* Read the fields that only version 3 has.  Stores the length of the header in
 * *LENGTH.
 */
static int
read_features (const struct imagefile *file, struct qcow2 *qcow2,
               uint32_t *length, struct error *error)
{
  unsigned char head[32];
  uint64_t features;

  if (imagefile_read (file, "the qcow2 header", head, sizeof head, 72,
                      error) == -1)
    return -1;
  features = be64_at (head);
  *length = be32_at (head + 28);
  if (*length < 104 || *length > qcow2_cluster_size (qcow2))
    return imagefile_error (file, error, "the qcow2 header is corrupt: its "
                            "length is %" PRIu32, *length);
  if (features & ~ALL_FEATURES)
    return imagefile_error (file, error, "the qcow2 image needs features that "
                            "this version of blksum does not support (0x%"
                            PRIx64 ")", features & ~ALL_FEATURES);
  if (features & CORRUPT)
    return imagefile_error (file, error, "the qcow2 image is marked as "
                            "corrupt: 'qemu-img check -r all' can repair it");
  if (*length > COMPRESSION &&
      imagefile_read (file, "the qcow2 header", &qcow2->compression, 1,
                      COMPRESSION, error) == -1)
    return -1;
  qcow2->has_data_file = features & DATA_FILE;
  qcow2->has_bitmaps = be64_at (head + 16) & BITMAPS;
  qcow2->extended_l2 = features & EXTENDED_L2;
  if (qcow2->extended_l2 && qcow2->cluster_bits < 14)
    return imagefile_error (file, error, "the qcow2 header is corrupt: "
                            "subclusters need clusters of at least 16 KiB");
  return 0;
}

/* Parse the fields that both versions have. */
static int
parse_fields (const struct imagefile *file, const unsigned char *head,
              struct qcow2 *qcow2, struct error *error)
{
  qcow2->version = be32_at (head + 4);
  qcow2->cluster_bits = be32_at (head + 20);
  qcow2->size = be64_at (head + 24);
  qcow2->encrypted = be32_at (head + 32) != 0;
  qcow2->l1_offset = be64_at (head + 40);

  if (memcmp (head, "QFI\xfb", 4) != 0)
    return imagefile_error (file, error, "not a qcow2 image");
  if (qcow2->version < 2 || qcow2->version > 3)
    return imagefile_error (file, error, "version %" PRIu32 " of qcow2 is "
                            "not supported", qcow2->version);
  if (qcow2->cluster_bits < 9 || qcow2->cluster_bits > 21)
    return imagefile_error (file, error, "the qcow2 header is corrupt: "
                            "unsupported cluster size (2^%u)",
                            qcow2->cluster_bits);
  return 0;
}

/* Check the number of entries of the L1 table. */
static int
check_l1 (const struct imagefile *file, const struct qcow2 *qcow2,
          uint64_t entries, struct error *error)
{
  if (entries > L1_MAX / 8)
    return imagefile_error (file, error, "the qcow2 header is corrupt: the L1 "
                            "table has %" PRIu64 " entries, and qemu reads at "
                            "most %" PRIu32, entries, L1_MAX / 8);
  if (entries < qcow2_l2_tables (qcow2))
    return imagefile_error (file, error, "the qcow2 header is corrupt: an L1 "
                            "table of %" PRIu64 " entries is too small for the "
                            "disk's size %" PRIu64, entries, qcow2->size);
  return 0;
}

int
qcow2_read_header (const struct imagefile *file, struct qcow2 *qcow2,
                   struct error *error)
{
  unsigned char head[72];
  uint64_t backing_offset, extensions_end;
  uint32_t backing_len, length = sizeof head;

  memset (qcow2, 0, sizeof *qcow2);
  if (imagefile_read (file, "the qcow2 header", head, sizeof head, 0,
                      error) == -1 ||
      parse_fields (file, head, qcow2, error) == -1 ||
      (qcow2->version > 2 &&
       read_features (file, qcow2, &length, error) == -1) ||
      check_l1 (file, qcow2, be32_at (head + 36), error) == -1)
    return -1;

  backing_offset = be64_at (head + 8);
  backing_len = be32_at (head + 16);
  if (backing_offset > qcow2_cluster_size (qcow2) ||
      (backing_offset &&
       backing_len > qcow2_cluster_size (qcow2) - backing_offset))
    return imagefile_error (file, error, "the qcow2 header is corrupt: the "
                            "name of the backing file is outside of the first "
                            "cluster");
  extensions_end = backing_offset ? backing_offset
    : qcow2_cluster_size (qcow2);
  if (read_extensions (file, qcow2, length, extensions_end, error) == -1)
    return -1;
  if (backing_offset &&
      read_string (file, "the name of the backing file", backing_offset,
                   backing_len, qcow2->backing, sizeof qcow2->backing,
                   error) == -1)
    return -1;
  return 0;
}

/* L2 tables are prefetched: on storage with a high latency it takes long to
 * read one of them, but many can be read at the same time.
 */
#define AHEAD 64                /* number of L1 entries whose tables are
                                 * prefetched */
#define AHEAD_DIRECT (PREFETCH_COUNT / 2) /* the same with direct I/O: a table
                                 * of a cluster of 64 KiB can be in two
                                 * pieces
                                 */

void
qcow2_prefetch (const struct imagefile *file, const struct qcow2 *qcow2,
                const unsigned char *entry, uint64_t index, uint64_t count,
                uint64_t *next)
{
  unsigned ahead = file->file->prefetch ? AHEAD_DIRECT : AHEAD;
  uint64_t end = index + MIN (count, ahead);

  for (*next = MAX (*next, index); *next < end; ++*next) {
    uint64_t table = be64_at (entry + (*next - index) * 8) & QCOW2_OFFSET;
    uint64_t len = qcow2_cluster_size (qcow2);

    if (table != 0 && imagefile_holds (file, table, len))
      file_prefetch_table (file->file, len, file->start + table);
  }
}
