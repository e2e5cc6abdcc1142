/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Everything that is read is untrusted.  The fields that blksum uses are
 * checked against the limits of qemu, so that blksum and qemu read the same
 * from an image that qemu opens.  qemu has more checks, and can still refuse an
 * image that passes these.
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "format/imagefile.h"
#include "format/qcow2.h"
#include "io/file-read.h"
#include "io/file.h"

/* ---- The header ---- */

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

/* ---- L2 tables, ahead of their use ---- */

/* L2 tables are prefetched: on storage with a high latency it takes long to
 * read one of them, but many can be read at the same time.
 */
#define AHEAD 64                /* number of L1 entries whose tables are
                                 * prefetched */
#define AHEAD_DIRECT (PREFETCH_COUNT / 2) /* the same with direct I/O: a table
                                 * of a cluster of 64 KiB can be in two
                                 * pieces */

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

/* ---- An entry of an L2 table ---- */

#define COMPRESSED (UINT64_C (1) << 62)
#define ZERO UINT64_C (1)       /* only in version 3, and without subclusters */

/* The number of bits of the offset depends on the cluster size.  The bits
 * between the offset and the two flags (bits 62 and 63) are the number of
 * sectors that contain the data, minus one.
 */
static void
decode_compressed (const struct qcow2 *qcow2, uint64_t descriptor,
                   struct qcow2_entry *entry)
{
  unsigned bits = 62 - (qcow2->cluster_bits - 8);
  uint64_t flags = QCOW2_COPIED | COMPRESSED;
  uint64_t sectors = ((descriptor & ~flags) >> bits) + 1;

  entry->compressed = true;
  entry->regular = true;
  entry->host = descriptor & ((UINT64_C (1) << bits) - 1);
  entry->len = sectors * 512 - (entry->host & 511);
  entry->allocated = entry->zero = 0;
}

void
qcow2_entry_decode (const struct qcow2 *qcow2, const unsigned char *bytes,
                    struct qcow2_entry *entry)
{
  uint64_t descriptor = be64_at (bytes);
  uint64_t reserved = ~(QCOW2_OFFSET | QCOW2_COPIED);
  bool has_bytes;

  if (descriptor & COMPRESSED) {
    decode_compressed (qcow2, descriptor, entry);
    return;
  }
  entry->compressed = false;
  entry->host = descriptor & QCOW2_OFFSET;
  if (qcow2->extended_l2) {
    entry->zero = be32_at (bytes + 8);
    entry->allocated = be32_at (bytes + 12);
  }
  else {
    if (qcow2->version > 2)
      reserved &= ~ZERO;
    entry->zero = descriptor & ZERO ? UINT32_MAX : 0;
    entry->allocated = ~entry->zero;
  }
  entry->regular = (descriptor & reserved) == 0 &&
    entry->host % qcow2_cluster_size (qcow2) == 0 &&
    (entry->allocated & entry->zero) == 0;

  /* Offset 0 is valid only in an external data file, and with COPIED set. */
  has_bytes = entry->host != 0 ||
    (qcow2->has_data_file && descriptor & QCOW2_COPIED);
  if (!has_bytes) {
    if (qcow2->extended_l2 && entry->allocated)
      entry->regular = false;
    entry->allocated = 0;
  }
}

/* ---- The map of the disk ---- */

/* Compressed clusters are not mapped here, nor are clusters with an irregular
 * entry, such as one with reserved bits or with an offset that is not aligned
 * to a cluster.  They are runs of RUN_QEMU: qemu reads or refuses them.
 */

/* Returns the number of consecutive set bits from bit N on. */
static unsigned
ones (uint32_t bits, unsigned n)
{
  uint32_t others = ~bits >> n;

  return others ? __builtin_ctz (others) : QCOW2_SUBCLUSTERS - n;
}

/* Set RUN to the run that starts at offset IN_CLUSTER of a cluster, according
 * to its L2 entry at BYTES.
 */
static void
cluster_at (const struct qcow2 *qcow2, const unsigned char *bytes,
            uint64_t in_cluster, struct run *run)
{
  uint64_t size = qcow2_cluster_size (qcow2);
  uint64_t subcluster = size / QCOW2_SUBCLUSTERS;
  unsigned n = in_cluster / subcluster;
  struct qcow2_entry entry;
  uint32_t same;

  qcow2_entry_decode (qcow2, bytes, &entry);
  run->host = entry.host + in_cluster;
  if (entry.compressed || !entry.regular) {
    run->kind = RUN_QEMU;
    run->len = size - in_cluster;
    return;
  }
  if (entry.zero >> n & 1) {
    run->kind = RUN_ZEROS;
    same = entry.zero;
  }
  else if (entry.allocated >> n & 1) {
    run->kind = RUN_DATA;
    same = entry.allocated;
  }
  else {
    run->kind = RUN_UNALLOCATED;
    same = ~(entry.allocated | entry.zero);
  }
  run->len = (n + ones (same, n)) * subcluster - in_cluster;
}

/* The L1 entry at ENTRY, the first of ENTRIES in memory, is unallocated.
 * Extend RUN over the unallocated entries after it.
 */
static void
skip_l1 (const unsigned char *entry, uint64_t entries, unsigned bits,
         struct run *run)
{
  run->kind = RUN_UNALLOCATED;
  while (--entries > 0 && (be64_at (entry += 8) & QCOW2_OFFSET) == 0)
    run->len += UINT64_C (1) << bits;
}

/* Set RUN to the run at OFFSET of the disk, whose L2 table is at TABLE.  Only
 * one page of the table is read, and the run does not go on in the next page.
 */
static int
l2_at (struct pages *pages, const struct qcow2 *qcow2, uint64_t table,
       uint64_t offset, struct run *run, struct error *error)
{
  unsigned size = qcow2_l2_entry_size (qcow2);
  uint64_t cluster = qcow2_cluster_size (qcow2);
  uint64_t entries = cluster / size;
  uint64_t index = offset / cluster & (entries - 1);
  uint64_t at = table + index * size;
  uint64_t whole = cluster - offset % cluster;
  const unsigned char *entry = pages_entry (pages, "an L2 table", at, size,
                                            error);
  struct run next;

  if (!entry)
    return -1;
  cluster_at (qcow2, entry, offset % cluster, run);
  entries = pages_rest (pages, at, entries - index, size);
  while (run->len == whole && --entries > 0) {
    cluster_at (qcow2, entry += size, 0, &next);
    if (!run_continues (run, &next))
      break;
    run->len += next.len;
    whole += cluster;
  }
  return 0;
}

int
qcow2_find_run (struct pages *pages, const struct qcow2 *qcow2,
                uint64_t offset, struct run *run, struct error *error)
{
  unsigned bits = qcow2_l2_table_bits (qcow2);
  uint64_t index = offset >> bits;
  uint64_t at = qcow2->l1_offset + index * 8;
  uint64_t tables = qcow2_l2_tables (qcow2);
  uint64_t l1, table;
  const unsigned char *entry = pages_entry (pages, "the L1 table", at, 8,
                                            error);

  if (!entry)
    return -1;
  qcow2_prefetch (pages->file, qcow2, entry, index,
                  pages_rest (pages, at, tables - index, 8),
                  &pages->prefetched);
  l1 = be64_at (entry);
  table = l1 & QCOW2_OFFSET;
  run->len = ((index + 1) << bits) - offset;
  if (table == 0)
    skip_l1 (entry, pages_rest (pages, at, tables - index, 8), bits, run);
  else if ((l1 & ~(QCOW2_OFFSET | QCOW2_COPIED)) != 0 ||
           table % qcow2_cluster_size (qcow2) != 0)
    run->kind = RUN_QEMU;
  else if (l2_at (pages, qcow2, table, offset, run, error) == -1)
    return -1;

  run->len = MIN (run->len, qcow2->size - offset);
  if (run->kind != RUN_DATA)
    return 0;
  return imagefile_check (pages->file, "a data cluster", run->host, run->len,
                          error);
}

/* ---- The memory of bitmaps ---- */

/* The bitmaps record which parts of the disk were written since a backup.  They
 * are not part of the content of the disk, but qemu loads all of them when it
 * opens the image.  An entry of a bitmap table, 8 bytes, can stand for a whole
 * cluster of ones, so a small image can make qemu allocate any amount of
 * memory.  An image is refused here only if the bitmaps take too much memory,
 * if an error makes it impossible to count, or if the bitmap tables together
 * are larger than the file, which limits the time.  qemu reports all other
 * errors.
 */

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
