/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compressed clusters are not mapped here, nor are clusters with an irregular
 * entry, such as one with reserved bits or with an offset that is not aligned
 * to a cluster.  They are runs of RUN_QEMU: qemu reads or refuses them.
 */

#include <config.h>

#include "../lib/common/util.h"
#include "format/qcow2-entry.h"
#include "format/qcow2-map.h"
#include "format/qcow2.h"

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
qcow2_map_at (struct pages *pages, const struct qcow2 *qcow2,
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
