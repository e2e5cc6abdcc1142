/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include "format/qcow2.h"
#include "format/qcow2-entry.h"

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
