/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A layer of an image: its file, its format, and the results of the check.
 */

#ifndef BLKSUM_LAYER_H
#define BLKSUM_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/imagefile.h"
#include "format/qcow2-check.h"
#include "format/vhdx.h"
#include "util/error.h"

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

/* Refuse a layer below the top whose size is not in whole sectors: qemu reads
 * it as if it had another size.  Returns 0, or -1 on error.
 */
int layer_check_below (const struct layer *layer, struct error *error);

/* Returns true if DRIVER is a known format other than "raw". */
bool layer_is_format (const char *driver);

/* Open PATH, a file of the image, and set FILE to it.  WHAT is its role, for
 * messages.  Returns 0, or -1 on error.
 */
int layer_open_file (struct imagefile *file, const char *what,
                     const char *path,
                     const struct layer_context *context,
                     struct error *error);

/* Set the backing layer of LAYER to PATH in FORMAT, which is copied.  LAYER
 * takes ownership of PATH, also on error.  A PATH of NULL is an error.  Returns
 * 0 or -1.
 */
int layer_set_backing (struct layer *layer, char *path, const char *format,
                       struct error *error);

#endif /* BLKSUM_LAYER_H */
