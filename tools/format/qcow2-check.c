/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Everything that is read is untrusted.  Each table is read once, in pieces,
 * and the total size of the tables that are read is limited by the size of the
 * file.  So memory and time are limited, whatever the image contains.
 *
 * Only the data that is visible to the guest now is checked.  Refcounts,
 * internal snapshots and bitmaps are not checked.  Invalid flags in the tables
 * are not errors here: the clusters whose entries have them are left to qemu,
 * which reads or refuses them.
 */

#include <config.h>

#include <stdlib.h>

#include "../lib/common/util.h"
#include "format/imagefile.h"
#include "format/qcow2-check.h"
#include "format/qcow2-entry.h"
#include "format/qcow2-tail.h"
#include "format/qcow2.h"

#define CHUNK 65536             /* bytes of a table read at a time */

struct cluster_walk {
  const struct imagefile *file, *data;
  const struct qcow2 *qcow2;
  struct error *error;
  struct qcow2_count count;
  struct qcow2_tail tail;
  uint64_t l2_bytes;            /* bytes of the L2 tables seen so far */
  uint64_t prefetched;          /* number of L1 entries whose L2 tables are
                                 * prefetched */
  unsigned char l1[CHUNK], l2[CHUNK];
};

/* Check the cluster of the disk at offset GUEST, which the L2 entry at BYTES
 * maps.
 */
static int
check_cluster (struct cluster_walk *w, const unsigned char *bytes,
               uint64_t guest)
{
  const struct qcow2 *qcow2 = w->qcow2;
  struct qcow2_entry entry;
  uint64_t len;

  qcow2_entry_decode (qcow2, bytes, &entry);
  if (entry.compressed) {
    w->count.compressed++;
    return imagefile_holds (w->file, entry.host, entry.len) ? 0
      : qcow2_tail_check (&w->tail, entry.host, entry.len, w->error);
  }
  if (entry.allocated == 0)
    return 0;
  w->count.plain++;
  len = qcow2_cluster_size (qcow2) / QCOW2_SUBCLUSTERS *
    (QCOW2_SUBCLUSTERS - __builtin_clz (entry.allocated));
  return imagefile_check (w->data, "a data cluster", entry.host,
                          MIN (len, qcow2->size - guest), w->error);
}

/* Check the L2 table at OFFSET, which maps the disk from offset GUEST on. */
static int
check_l2 (struct cluster_walk *w, uint64_t offset, uint64_t guest)
{
  const struct qcow2 *qcow2 = w->qcow2;
  unsigned size = qcow2_l2_entry_size (qcow2);
  uint64_t clusters = qcow2_div_round_up (qcow2->size - guest,
                                          qcow2->cluster_bits);
  uint64_t len = MIN (clusters, qcow2_cluster_size (qcow2) / size) * size;

  if (imagefile_check (w->file, "an L2 table", offset, len, w->error) == -1)
    return -1;
  w->l2_bytes += len;
  if (w->l2_bytes > w->file->size)
    return imagefile_error (w->file, w->error, "the image is corrupt: its L2 "
                            "tables overlap");

  for (uint64_t done = 0; done < len; done += CHUNK) {
    size_t n = MIN (len - done, CHUNK);

    if (imagefile_read (w->file, "an L2 table", w->l2, n, offset + done,
                        w->error) == -1)
      return -1;
    for (size_t i = 0; i < n; i += size) {
      if (check_cluster (w, w->l2 + i, guest) == -1)
        return -1;
      guest += qcow2_cluster_size (qcow2);
    }
  }
  return 0;
}

static int
check_l1 (struct cluster_walk *w)
{
  const struct qcow2 *qcow2 = w->qcow2;
  unsigned bits = qcow2_l2_table_bits (qcow2);
  uint64_t len = qcow2_l2_tables (qcow2) * 8, guest = 0;

  for (uint64_t done = 0; done < len; done += CHUNK) {
    size_t n = MIN (len - done, CHUNK);

    if (imagefile_read (w->file, "the L1 table", w->l1, n,
                        qcow2->l1_offset + done, w->error) == -1)
      return -1;
    for (size_t i = 0; i < n; i += 8) {
      uint64_t l2_offset = be64_at (w->l1 + i) & QCOW2_OFFSET;

      qcow2_prefetch (w->file, qcow2, w->l1 + i, (done + i) / 8, (n - i) / 8,
                      &w->prefetched);
      if (l2_offset && check_l2 (w, l2_offset, guest) == -1)
        return -1;
      guest += UINT64_C (1) << bits;
    }
  }
  return 0;
}

int
qcow2_check (const struct imagefile *file, const struct imagefile *data,
             const struct qcow2 *qcow2, struct qcow2_count *count,
             struct error *error)
{
  struct cluster_walk *w = malloc (sizeof *w);
  int r;

  if (!w)
    return imagefile_error (file, error, "out of memory");
  w->file = file;
  w->data = data;
  w->qcow2 = qcow2;
  w->error = error;
  w->count = (struct qcow2_count) { 0, 0 };
  w->l2_bytes = w->prefetched = 0;
  qcow2_tail_init (&w->tail, file, qcow2);
  r = check_l1 (w);
  *count = w->count;
  qcow2_tail_destroy (&w->tail);
  free (w);
  return r;
}
