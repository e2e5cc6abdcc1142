/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Map an offset of the disk to a layer of the image, and to an offset in the
 * file of that layer.
 */

#ifndef BLKSUM_CHAIN_H
#define BLKSUM_CHAIN_H

#include <stdint.h>

#include "format/pages.h"
#include "format/qcow2-check.h"
#include "format/run.h"

struct error;
struct file;
struct layer;

#define CHAIN_MAX 16

struct chain {
  uint64_t size;                /* of the disk */
  struct qcow2_count clusters;  /* of all layers */
  unsigned count;
  const struct layer *layers[CHAIN_MAX]; /* the first is the top */
  struct pages pages[CHAIN_MAX]; /* of their tables */
};

/* Prepare to read TOP, which was checked, and its backing chain.  They must
 * exist until chain_close.  CHAIN is empty.  1; 0 if only qemu can read a
 * layer; or -1.  The chain must be closed in any case.
 */
int chain_open (struct chain *chain, const struct layer *top,
                struct error *error);

void chain_close (struct chain *chain);

/* Set RUN to what is at OFFSET of the disk, and *FILE to the file of its data.
 * A run is never "unallocated".  One thread at a time.  0 or -1.
 */
int chain_at (struct chain *chain, uint64_t offset, struct run *run,
              const struct file **file, struct error *error);

#endif /* BLKSUM_CHAIN_H */
