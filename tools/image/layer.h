/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A layer of an image: its file, its format, and what the check found.
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
struct json_object;

/* The context of a check, the same for all layers of an image. */
struct layer_context {
  bool secrets;                 /* the user can give secrets to qemu */
  struct files *files;          /* receives the local files */
};

struct layer {
  struct layer *backing;        /* named by its header, or NULL */
  char *path;                   /* or a URL of qemu; NULL: no layer */
  char *format;                 /* empty: not recorded */
  struct json_object *options;  /* if the user gave some, or NULL */
  struct imagefile file;        /* of a local file; else NULL */
  bool backing_given;           /* the name in the header is not used */
  bool data_given;              /* the same; instead of it: */
  struct imagefile data;        /* of a local file; else NULL */

  /* Set by the check: how its content can be found without qemu, if at all. */
  enum { LAYER_QEMU, LAYER_RAW, LAYER_QCOW2, LAYER_VHDX } map;
  struct qcow2_count clusters;
  union {
    struct qcow2 qcow2;
    struct vhdx vhdx;
  };
};

#define LAYER_NONE { 0 }

/* Set LAYER, which is LAYER_NONE, to FILE.  0 or -1. */
int layer_init (struct layer *layer, const struct file *file,
                const char *format, struct error *error);

/* Destroys the backing chain, too. */
void layer_destroy (struct layer *layer);

/* The name for messages; NULL: the operand, which is named anyway. */
const char *layer_name (const struct layer *layer);

/* The size of its disk in bytes, unless only qemu can find its content. */
uint64_t layer_size (const struct layer *layer);

/* Is DRIVER a known format other than "raw"? */
bool layer_is_format (const char *driver);

/* Open PATH, a file of the image; WHAT names its role in messages.  0 or -1. */
int layer_open_file (struct imagefile *file, const char *what,
                     const char *path,
                     const struct layer_context *context,
                     struct error *error);

/* Set the backing layer of LAYER to PATH, which it then owns, in FORMAT.  0 or
 * -1.
 */
int layer_set_backing (struct layer *layer, char *path, const char *format,
                       struct error *error);

#endif /* BLKSUM_LAYER_H */
