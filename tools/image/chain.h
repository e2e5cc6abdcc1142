/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image whose tables we read, and the files behind it: in which of them,
 * and where, is what is at an offset of the disk?
 */

#ifndef BLKSUM_CHAIN_H
#define BLKSUM_CHAIN_H

#include <stdint.h>

#include "format/imagefile.h"
#include "format/pages.h"
#include "format/qcow2-check.h"
#include "format/run.h"
#include "format/vhdx.h"

struct error;
struct file;
struct files;

#define CHAIN_MAX 16

/* One file. */
struct chain_layer {
  struct imagefile image;
  enum { CHAIN_RAW, CHAIN_QCOW2, CHAIN_VHDX } format;
  uint64_t size;                /* of the disk in it */
  struct pages pages;           /* of its tables, unless it is raw */
  struct qcow2 qcow2;           /* if it is one */
  struct vhdx vhdx;             /* the same */
};

struct chain {
  struct files *files;          /* that were checked; NULL: only the image */

  uint64_t size;                /* of the disk */
  struct qcow2_count clusters;  /* of all layers */
  unsigned count;
  struct chain_layer layers[CHAIN_MAX]; /* the first is the top */
};

/* Look at FILE, an image in FORMAT, and what is behind it.  FILES are set, the
 * rest is empty.  1; 0 if there is something that only qemu can read; or -1.
 * To be closed in any case.
 */
int chain_open (struct chain *chain, const struct file *file,
                const char *format, struct error *error);

void chain_close (struct chain *chain);

/* What is at OFFSET of the disk: data is in *FILE.  A run is never
 * "unallocated".  One thread at a time.  0 or -1.
 */
int chain_at (struct chain *chain, uint64_t offset, struct run *run,
              const struct file **file, struct error *error);

#endif /* BLKSUM_CHAIN_H */
