/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where in its file the content of a qcow2 is.
 */

#ifndef BLKSUM_QCOW2_MAP_H
#define BLKSUM_QCOW2_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "imagefile.h"
#include "qcow2.h"

/* Pieces of tables that are kept, whatever the size of the image. */
#define QCOW2_MAP_PAGE_BITS 12
#define QCOW2_MAP_PAGE (1 << QCOW2_MAP_PAGE_BITS) /* bytes */
#define QCOW2_MAP_PAGES 64

struct qcow2_map {
  const struct imagefile *file;
  const struct qcow2 *qcow2;
  unsigned char *pages;         /* page N is in slot N % QCOW2_MAP_PAGES */
  uint64_t at[QCOW2_MAP_PAGES]; /* which it is */
};

enum qcow2_kind {
  QCOW2_RUN_DATA,               /* the bytes at HOST of the file */
  QCOW2_RUN_ZEROS,
  QCOW2_RUN_UNALLOCATED,        /* what is behind the image, or zeros */
  QCOW2_RUN_OTHER,              /* compressed, or nothing that is right */
};

struct qcow2_run {
  enum qcow2_kind kind;
  uint64_t len;                 /* at least 1 */
  uint64_t host;
};

/* Can there be a map of an image with this header?  Not if its content is
 * encrypted or in another file, or the clusters are smaller than a page.
 */
bool qcow2_map_fits (const struct qcow2 *qcow2);

/* FILE and QCOW2, its header, must stay until the end.  0 or -1. */
int qcow2_map_init (struct qcow2_map *map, const struct imagefile *file,
                    const struct qcow2 *qcow2, struct error *error);

void qcow2_map_destroy (struct qcow2_map *map);

/* What is at OFFSET of the disk, less than its size.  All of the run lies in
 * the disk, and in the file, if it is data.  One thread at a time.  0 or -1.
 */
int qcow2_map_at (struct qcow2_map *map, uint64_t offset,
                  struct qcow2_run *run, struct error *error);

#endif /* BLKSUM_QCOW2_MAP_H */
