/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A run: a range of the disk, and where the tables of the image map it.
 */

#ifndef BLKSUM_RUN_H
#define BLKSUM_RUN_H

#include <stdbool.h>
#include <stdint.h>

enum run_kind {
  RUN_DATA,                     /* stored at offset HOST */
  RUN_ZEROS,
  RUN_UNALLOCATED,              /* read from the backing file, or zeros if
                                 * there is none */
  RUN_QEMU,                     /* left to qemu: compressed, or an invalid
                                 * entry */
};

struct run {
  enum run_kind kind;
  uint64_t len;                 /* bytes, at least 1 */
  uint64_t host;                /* offset in the image file, in bytes; only for
                                 * RUN_DATA */
};

/* Can NEXT, which is directly after RUN on the disk, be added to RUN? */
static inline bool
run_continues (const struct run *run, const struct run *next)
{
  return next->kind == run->kind &&
    (run->kind != RUN_DATA || next->host == run->host + run->len);
}

#endif /* BLKSUM_RUN_H */
