/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Limits of the tables of cloop, parallels, qcow and qed images.
 *
 * qemu allocates a table of the size that is recorded in the header.  If the
 * file is truncated within the table, qemu may read the rest as zeros, and the
 * truncated image would have a sum.  (The tables of a qed are checked only for
 * their size: qemu refuses those that are not inside the file.)  Nothing else
 * is checked: qemu refuses a qed that is truncated within its data, but reads
 * the missing data of a qcow or parallels image as zeros.
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "format/imagefile.h"
#include "format/table-limits.h"

#define CLOOP_HEADER 136
#define QED_CACHED_TABLES 50    /* in addition to the L1 table */

static int
check_cloop (const struct imagefile *file, const unsigned char *head,
             struct error *error)
{
  return imagefile_check_table (file, "the table of blocks", CLOOP_HEADER,
                                (UINT64_C (1) + be32_at (head + 132)) * 8,
                                error);
}

static int
check_parallels (const struct imagefile *file, const unsigned char *head,
                 struct error *error)
{
  return imagefile_check_table (file, "the block allocation table", 64,
                                UINT64_C (4) * le32_at (head + 32), error);
}

static int
check_qcow (const struct imagefile *file, const unsigned char *head,
            struct error *error)
{
  uint64_t size = be64_at (head + 24), entries;
  unsigned cluster_bits = head[32], l2_bits = head[33], bits;

  if (cluster_bits < 9 || cluster_bits > 16 || l2_bits < 6 || l2_bits > 13)
    return 0;
  bits = cluster_bits + l2_bits;
  entries = (size >> bits) + ((size & ((UINT64_C (1) << bits) - 1)) != 0);
  return imagefile_check_table (file, "the L1 table", be64_at (head + 40),
                                entries * 8, error);
}

/* All tables of a qed image have the same size. */
static int
check_qed (const struct imagefile *file, const unsigned char *head,
           struct error *error)
{
  uint64_t len = (uint64_t) le32_at (head + 4) * le32_at (head + 8);

  if (len > IMAGEFILE_TABLE_MAX / (QED_CACHED_TABLES + 1))
    return imagefile_error (file, error, "refused because the tables of the "
                            "qed image have %" PRIu64 " bytes each: qemu "
                            "keeps up to %d of them in memory", len,
                            QED_CACHED_TABLES + 1);
  return 0;
}

int
table_limits_check (const struct imagefile *file, const char *format,
                    struct error *error)
{
  static const struct {
    const char *format, *magic; /* images with another magic are left to qemu */
    size_t header;
    int (*check) (const struct imagefile *, const unsigned char *,
                  struct error *);
  } formats[] = {
    { "cloop", "", CLOOP_HEADER, check_cloop },
    { "parallels", "Witho", 64, check_parallels },
    { "qcow", "QFI\xfb", 48, check_qcow },
    { "qed", "QED", 64, check_qed },
  };
  unsigned char head[CLOOP_HEADER];

  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    if (strcmp (format, formats[i].format) != 0)
      continue;
    if (imagefile_read (file, "the header", head, formats[i].header, 0,
                        error) == -1)
      return -1;
    if (memcmp (head, formats[i].magic, strlen (formats[i].magic)) == 0)
      return formats[i].check (file, head, error);
  }
  return 0;
}
