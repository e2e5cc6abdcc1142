/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The layers of an image: the image itself, and its backing chain.  A layer is
 * its file, its format, and the results of the check (layer-check.h).  A chain
 * maps an offset of the disk to a layer, and to an offset in its file.
 */

#ifndef BLKSUM_LAYER_H
#define BLKSUM_LAYER_H

#include <stdint.h>

#include "format/formats.h"
#include "format/imagefile.h"
#include "format/qcow2-check.h"
#include "util/error.h"

struct extent;
struct files;

/* The context of a check, the same for all layers of an image. */
struct layer_context {
  struct files *files;          /* the check adds the image's local files */
  struct error *warning;        /* set if the image is hashed, but the user
                                 * may expect another sum */
};

struct layer {
  struct layer *backing;        /* backing layer that the header names, or
                                 * NULL */
  char *path;                   /* path, or URL as in qemu; NULL: no layer */
  char *format;                 /* empty: not recorded */
  struct imagefile file;        /* FILE.FILE is NULL if the layer is a raw image
                                 * on a server */

  /* Set by the check: the exact size of the disk in bytes, or 0 if qemu knows
   * it; and how blksum can map the content, or LAYER_QEMU if only qemu can.
   */
  uint64_t size;
  enum { LAYER_QEMU, LAYER_RAW, LAYER_QCOW2, LAYER_VHDX } map;
  struct qcow2_count clusters;
  union {
    struct qcow2 qcow2;
    struct vhdx vhdx;
  };
};

#define LAYER_NONE { 0 }

/* Initialize LAYER, which must be LAYER_NONE, as an image in FILE in the format
 * FORMAT.  FILE must outlive LAYER; FORMAT is copied.  Returns 0, or -1 on
 * error.
 */
int layer_init (struct layer *layer, const struct file *file,
                const char *format, struct error *error);

/* Destroy LAYER and free its backing chain; *LAYER itself is not freed. */
void layer_destroy (struct layer *layer);

#define CHAIN_MAX 16

struct chain {
  uint64_t size;                /* size of the disk in bytes */
  struct qcow2_count clusters;  /* number of data clusters in all layers */
  unsigned count;               /* number of layers */
  const struct layer *layers[CHAIN_MAX]; /* the first is the top layer */
  struct pages pages[CHAIN_MAX]; /* caches of the tables of the layers */
};

/* Prepare to read TOP, which must have been checked, and its backing chain.
 * The layers must exist until chain_close.  CHAIN must be all zero.  The answer
 * is no if qemu must read the chain, because only qemu can read one of the
 * layers, or there are more than CHAIN_MAX layers.  The chain must be closed in
 * all cases.
 */
enum answer chain_open (struct chain *chain, const struct layer *top,
                        struct error *error);

void chain_close (struct chain *chain);

/* Set EXTENT to the extent at OFFSET on the disk, with its place in the file of
 * a layer.  The place is not known if only qemu can read the data.  Only one
 * thread at a time may use CHAIN.  Returns 0, or -1 on error.
 */
int chain_find_extent (struct chain *chain, uint64_t offset,
                       struct extent *extent, struct error *error);

#endif /* BLKSUM_LAYER_H */
