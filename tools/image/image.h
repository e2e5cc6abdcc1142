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
#include <stdint.h>

#include "image/fileset.h"
#include "util/error.h"

struct json_object;

struct image {
  char format[32];              /* "raw": read the file; else for qemu */
  bool probed;                  /* by its content; the user did not say it */
  struct fileset files;         /* what it is made of, if the user said it */
  struct json_object *options;  /* if the user gave some, or NULL */
};

/* Decide how to read the file that FD, open for reading, is, at PATH and SIZE
 * bytes long.  FORMAT is what the user said, or NULL.  Runs no program for a
 * format that is probed.  0, or -1 with the reason in *ERROR; only after 0
 * there is something to destroy.
 */
int image_inspect (int fd, const char *path, uint64_t size,
                   const char *format, bool force_share,
                   struct image *image, struct error *error);

/* The same for an option string of qemu, which must name the driver. */
int image_inspect_opts (const char *opts, bool force_share,
                        struct image *image, struct error *error);

/* Is every local file that was looked at still the same, in the same state?
 * With FORCE_SHARE they must only not have become shorter.  Of an image that
 * was probed or is raw none is known: it is the one file that the caller has
 * open.  0, or -1 with the reason in *ERROR.
 */
int image_check_unchanged (const struct image *image, bool force_share,
                           struct error *error);

void image_destroy (struct image *image);

/* What to tell qemu to open an image that image_inspect took: see
 * qemuopts_target.  The caller frees it.  NULL if there is no memory.
 *
 * If the image was probed, PATH must be that of the same file as FD in
 * image_inspect, or what qemu opens must be checked.  Otherwise it must be the
 * path that the user gave: relative names in the header are relative to it.
 * For options it is not used.
 */
char *image_qemu_opts (const struct image *image, const char *path,
                       bool is_block_device, bool force_share);

#endif /* BLKSUM_IMAGE_H */
