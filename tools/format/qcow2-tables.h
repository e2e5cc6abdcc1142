/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The entries of the L1 and L2 tables of a qcow2.
 */

#ifndef BLKSUM_QCOW2_TABLES_H
#define BLKSUM_QCOW2_TABLES_H

#include <stdint.h>

#include "format/qcow2.h"

#define QCOW2_OFFSET UINT64_C (0x00fffffffffffe00) /* of L1 and L2 entries */
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

/* How many bytes of the disk an L2 table describes, as a power of two. */
static inline unsigned
qcow2_l2_table_bits (const struct qcow2 *qcow2)
{
  return 2 * qcow2->cluster_bits - (qcow2->extended_l2 ? 4 : 3);
}

/* How many L2 tables describe all of it. */
static inline uint64_t
qcow2_l2_tables (const struct qcow2 *qcow2)
{
  return qcow2_div_round_up (qcow2->size, qcow2_l2_table_bits (qcow2));
}

#endif /* BLKSUM_QCOW2_TABLES_H */
