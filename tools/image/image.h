/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Inspect an image.  Only here the format is determined, and an image is
 * refused that must not be hashed.
 *
 * An image that is probed can be the disk of a guest, which can write any
 * header.  So if the user did not give the format, only images that name no
 * other file are accepted.  An incomplete image, part of which qemu would read
 * as zeros, is always refused.
 */

#ifndef BLKSUM_IMAGE_H
#define BLKSUM_IMAGE_H

#include <stdbool.h>

#include "image/layer.h"

struct error;
struct file;
struct files;

struct json_object;

struct image {
  char format[32];              /* "raw": the file itself is read */
  bool probed;                  /* the user did not give the format */
  struct layer top;             /* with its backing chain; none if the image is
                                 * raw, or described by options */
  struct json_object *options;  /* if the user gave some, or NULL */
};

/* Inspect FILE, one of FILES.  FORMAT was given by the user, or is NULL.  If it
 * was given, the local files that the image names are added to FILES.  If it is
 * probed, no program is run.  0, or -1 with the reason in *ERROR; only after 0
 * there is something to destroy.
 */
int image_inspect (struct file *file, const char *format, struct files *files,
                   struct image *image, struct error *error);

/* The same for an option string of qemu, which must name the driver. */
int image_inspect_opts (const char *opts, struct files *files,
                        struct image *image, struct error *error);

void image_destroy (struct image *image);

/* The argument with which qemu opens an image that was inspected: see
 * qemuopts_target.  The caller frees it.  NULL if there is no memory.
 *
 * If the image was probed, PATH must be a path to the inspected file, or the
 * files that qemu opens must be checked.  Otherwise it must be the path that
 * the user gave: relative names in the header are relative to it.  With options
 * PATH is not used.
 */
char *image_qemu_opts (const struct image *image, const char *path,
                       bool is_block_device, bool force_share);

#endif /* BLKSUM_IMAGE_H */
