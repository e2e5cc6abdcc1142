/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where is what is at an offset of the disk: in which of the layers of an
 * image, and where in its file?
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

/* Get ready to read from TOP, which was checked, and what is behind it; they
 * must stay until the end.  CHAIN is empty.  1; 0 if there is something that
 * only qemu can read; or -1.  To be closed in any case.
 */
int chain_open (struct chain *chain, const struct layer *top,
                struct error *error);

void chain_close (struct chain *chain);

/* What is at OFFSET of the disk: data is in *FILE.  A run is never
 * "unallocated".  One thread at a time.  0 or -1.
 */
int chain_at (struct chain *chain, uint64_t offset, struct run *run,
              const struct file **file, struct error *error);

#endif /* BLKSUM_CHAIN_H */
