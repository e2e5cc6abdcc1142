/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One layer of an image: its file, its format, and what was found in it.
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

/* What is the same for all layers of an image. */
struct layer_context {
  bool secrets;                 /* the user can give secrets to qemu */
  struct files *files;          /* the local files are added to it */
};

struct layer {
  struct layer *backing;        /* what its header names, or NULL */
  char *path;                   /* or a URL of qemu; NULL: no layer */
  char *format;                 /* empty: not recorded */
  struct json_object *options;  /* if the user gave some, or NULL */
  struct imagefile file;        /* of a local file; else NULL */
  bool backing_given;           /* what the header names is not used */
  bool data_given;              /* the same; this is used: */
  struct imagefile data;        /* of a local file; else NULL */

  /* Once it was checked: what we can find its content by. */
  enum { LAYER_QEMU, LAYER_RAW, LAYER_QCOW2, LAYER_VHDX } map;
  struct qcow2_count clusters;
  union {
    struct qcow2 qcow2;
    struct vhdx vhdx;
  };
};

#define LAYER_NONE { 0 }

/* Set LAYER, which is none, to FILE.  0 or -1. */
int layer_init (struct layer *layer, const struct file *file,
                const char *format, struct error *error);

/* With what is behind it. */
void layer_destroy (struct layer *layer);

/* For messages; NULL: the operand, which needs no naming. */
const char *layer_name (const struct layer *layer);

/* Of the disk in it, if we can find its content: in bytes. */
uint64_t layer_size (const struct layer *layer);

/* Is this a format that can be checked, or has nothing to be checked?  "raw"
 * is none of them.
 */
bool layer_is_format (const char *driver);

/* Open PATH, as a part of an image; WHAT tells the user which part.  0 or
 * -1.
 */
int layer_open_file (struct imagefile *file, const char *what,
                     const char *path,
                     const struct layer_context *context,
                     struct error *error);

/* Take PATH, which becomes the layer's, for what is behind LAYER, in FORMAT.
 * 0 or -1.
 */
int layer_set_backing (struct layer *layer, char *path, const char *format,
                       struct error *error);

#endif /* BLKSUM_LAYER_H */
