/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Inspect an image: determine its format, and refuse it if its files must not
 * be read or are incomplete.
 *
 * An image whose format is probed can be the disk of a guest, and the guest can
 * write any header.  So if the user did not give the format, an image that
 * names another file is refused.
 *
 * qemu would read the missing end of an incomplete image as zeros.  So an image
 * is refused if any of its tables has an offset of data beyond the end of the
 * file.  An incomplete raw image cannot be distinguished from a smaller disk.
 */

#ifndef BLKSUM_IMAGE_H
#define BLKSUM_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "image/layer.h"
#include "util/error.h"

struct file;
struct files;

/* What image_inspect found. */
struct image_info {
  char format[32];              /* if "raw", the file itself is read */
  bool probed;                  /* the user did not give the format */
  struct layer top;             /* top layer with its backing chain; none if
                                 * the image is raw */
  uint64_t size;                /* exact size of the disk in bytes, or 0 if qemu
                                 * knows it */
  struct error warning;         /* see struct layer_context */
};

/* Inspect FILE, which is one of FILES.  FORMAT is the format that the user
 * gave, or NULL to probe it.  If FORMAT is given, the local files that the
 * image names are added to FILES.  If FORMAT is NULL, qemu-img is not run.
 * Returns 0, or -1 with the reason in *ERROR.  The caller destroys INFO, except
 * after an error.
 */
int image_inspect (struct file *file, const char *format, struct files *files,
                   struct image_info *info, struct error *error);

void image_info_destroy (struct image_info *info);

/* Probe FILE, and check nothing else.  Returns the format as a static string,
 * or NULL with the reason in *ERROR.
 */
const char *image_probe (const struct file *file, struct error *error);

/* Check the raw image on standard input, which starts at START of FILE: it is
 * refused if it ends with the footer of a vpc image.  Sets *WARNING if the
 * footer is damaged.  Returns 0, or -1 with the reason in *ERROR.
 */
int image_check_stream (const struct file *file, uint64_t start,
                        struct error *warning, struct error *error);

/* Returns the argument with which qemu opens an image that was inspected: see
 * qemuopts_target.  The caller frees it.  Returns NULL if there is no memory.
 *
 * If the format was probed, PATH should always lead to the inspected file, as
 * /proc/self/fd/N does.  If PATH can lead to another file by now, the caller
 * must check which files qemu opens.  If the user gave the format, PATH must be
 * the path that the user gave, because relative names in the header are
 * relative to it.
 */
char *image_qemu_opts (const struct image_info *info, const char *path,
                       bool is_block_device, bool force_share);

#endif /* BLKSUM_IMAGE_H */
