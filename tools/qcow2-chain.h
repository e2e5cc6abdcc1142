/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A qcow2 and the files behind it: in which of them, and where, is what is at
 * an offset of the disk?
 */

#ifndef BLKSUM_QCOW2_CHAIN_H
#define BLKSUM_QCOW2_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "file.h"
#include "file-access.h"
#include "fileset.h"
#include "imagefile.h"
#include "qcow2-map.h"

#define QCOW2_CHAIN_MAX 16

/* One file. */
struct chain_layer {
  char *path;
  struct file file;
  struct file_access access;
  struct imagefile image;       /* the same, for the parsers */
  bool sparse;                  /* it has holes */
  bool raw;                     /* these are not for it: */
  struct qcow2 header;
  struct qcow2_map map;
};

struct qcow2_chain {
  bool cache;                   /* may what was read stay in the page cache? */
  const struct fileset *files;  /* that were checked; NULL: only the image */

  uint64_t size;                /* of the disk */
  struct qcow2_count clusters;  /* of all layers */
  unsigned count;
  struct chain_layer layers[QCOW2_CHAIN_MAX]; /* the first is the top */
};

/* Open what is behind FILE, which stays the caller's, at PATH.  CACHE and FILES
 * are set, the rest is empty.  1; 0 if there is something that only qemu can
 * read; or -1.  To be closed in any case.
 */
int qcow2_chain_open (struct qcow2_chain *chain, const struct file *file,
                      const char *path, struct error *error);

void qcow2_chain_close (struct qcow2_chain *chain);

/* Could all of its files be read by direct I/O? */
bool qcow2_chain_can_direct (const struct qcow2_chain *chain);

/* What is at OFFSET of the disk: data is in *LAYER.  A run is never
 * "unallocated".  One thread at a time.  0 or -1.
 */
int qcow2_chain_at (struct qcow2_chain *chain, uint64_t offset,
                    struct qcow2_run *run, const struct chain_layer **layer,
                    struct error *error);

#endif /* BLKSUM_QCOW2_CHAIN_H */
