/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A run: what the tables of an image say about a part of its disk.
 */

#ifndef BLKSUM_RUN_H
#define BLKSUM_RUN_H

#include <stdint.h>

enum run_kind {
  RUN_DATA,                     /* the bytes at HOST of the file */
  RUN_ZEROS,
  RUN_UNALLOCATED,              /* in the backing file, or zeros */
  RUN_OTHER,                    /* compressed, or an invalid entry */
};

struct run {
  enum run_kind kind;
  uint64_t len;                 /* bytes, at least 1 */
  uint64_t host;
};

#endif /* BLKSUM_RUN_H */
