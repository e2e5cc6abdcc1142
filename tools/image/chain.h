/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Map an offset of the disk to a layer of the image (see layer.h), and to an
 * offset in the file of that layer.
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
struct range;

#define CHAIN_MAX 16

struct chain {
  uint64_t size;                /* size of the disk in bytes */
  struct qcow2_count clusters;  /* number of data clusters in all layers */
  unsigned count;               /* number of layers */
  const struct layer *layers[CHAIN_MAX]; /* the first is the top layer */
  struct pages pages[CHAIN_MAX]; /* caches of the tables of the layers */
};

/* Prepare to read TOP, which must have been checked, and its backing chain.
 * The layers must exist until chain_close.  CHAIN must be all zero.  Returns 1
 * if the chain can be read; 0 if qemu must read it, because only qemu can read
 * one of the layers, or there are more than CHAIN_MAX layers; or -1 on error.
 * The chain must be closed in all cases.
 */
int chain_open (struct chain *chain, const struct layer *top,
                struct error *error);

void chain_close (struct chain *chain);

/* Map OFFSET on the disk: set RUN to the run that starts there, and *FILE to
 * the file in which its data is stored.  The kind of a run is never
 * RUN_UNALLOCATED.  Only one thread at a time may use CHAIN.  Returns 0, or -1
 * on error.
 */
int chain_at (struct chain *chain, uint64_t offset, struct run *run,
              const struct file **file, struct error *error);

/* Returns 1 if each range is within a single run of data (the two runs can be
 * different), the data of SECOND is directly after that of FIRST in the same
 * file, and the offsets of the data in the file and the lengths of the ranges
 * are multiples of READ_ALIGN.  Otherwise returns 0, or -1 on error.  Only one
 * thread at a time may use CHAIN.
 */
int chain_adjoin (struct chain *chain, const struct range *first,
                  const struct range *second, struct error *error);

#endif /* BLKSUM_CHAIN_H */
