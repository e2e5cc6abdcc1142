/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One layer of an image: is it complete, and what is behind it?  Whoever
 * calls says what its format is; how layers follow each other is not known
 * here.
 */

#ifndef BLKSUM_LAYER_H
#define BLKSUM_LAYER_H

#include <stdbool.h>

#include "format/imagefile.h"
#include "image/fileset.h"
#include "util/error.h"

struct json_object;

/* What is the same for all layers of an image. */
struct layer_context {
  bool force_share;
  bool secrets;                 /* the user can give secrets to qemu */
  struct fileset *files;        /* the local files are added to it */
};

struct layer {
  char *path;                   /* or a URL of qemu; NULL: no layer */
  char *format;                 /* empty: not recorded */
  struct json_object *options;  /* if the user gave some, or NULL */
  struct imagefile file;        /* fd is -1: not a local file */
  bool backing_given;           /* what the header names is not used */
  bool data_given;              /* the same; these are used: */
  char *data_path;
  struct imagefile data;        /* fd is -1: not a local file */
};

#define LAYER_NONE { .file.fd = -1, .data.fd = -1 }

void layer_destroy (struct layer *layer);

/* Is this a format that can be checked, or has nothing to be checked?  "raw"
 * is none of them.
 */
bool layer_is_format (const char *driver);

/* Open PATH, as a part of an image; WHAT tells the user which part.  FILE->name
 * becomes PATH.  0 or -1.
 */
int layer_open_file (struct imagefile *file, const char *what,
                     const char *path,
                     const struct layer_context *context,
                     struct error *error);

/* Check a layer and set NEXT, which is empty, to what the layer says is behind
 * it; that is not opened.  0 or -1.
 */
int layer_check (const struct layer *layer,
                 const struct layer_context *context,
                 struct layer *next, struct error *error);

#endif /* BLKSUM_LAYER_H */
