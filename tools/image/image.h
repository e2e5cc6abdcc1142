/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How may an image file be read?  The one place that decides which format an
 * image is in, and refuses what must not be hashed.
 *
 * An image that is probed can be the disk of a guest, who writes any header
 * that it likes.  So when the user did not say what the format is, only images
 * that stand alone are taken.  Images that are not complete, which qemu would
 * read as zeros in part, are refused in any case.
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
  char format[32];              /* "raw": read the file; else for qemu */
  bool probed;                  /* by its content; the user did not say it */
  struct layer top;             /* and what is behind it; none if it is raw, or
                                 * described by options */
  struct json_object *options;  /* if the user gave some, or NULL */
};

/* Decide how to read FILE, one of FILES.  FORMAT is what the user said, or
 * NULL.  The local files that it names are added to FILES, if the user said the
 * format.  Runs no program for a format that is probed.  0, or -1 with the
 * reason in *ERROR; only after 0 there is something to destroy.
 */
int image_inspect (struct file *file, const char *format, struct files *files,
                   struct image *image, struct error *error);

/* The same for an option string of qemu, which must name the driver. */
int image_inspect_opts (const char *opts, struct files *files,
                        struct image *image, struct error *error);

void image_destroy (struct image *image);

/* What to tell qemu to open an image that image_inspect took: see
 * qemuopts_target.  The caller frees it.  NULL if there is no memory.
 *
 * If the image was probed, PATH must be that of the very file that was
 * inspected, or what qemu opens must be checked.  Otherwise it must be the
 * path that the user gave: relative names in the header are relative to it.
 * For options it is not used.
 */
char *image_qemu_opts (const struct image *image, const char *path,
                       bool is_block_device, bool force_share);

#endif /* BLKSUM_IMAGE_H */
