/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image that qemu-nbd has opened for us.  How it is read is not known here.
 */

#ifndef BLKSUM_QEMU_IMAGE_H
#define BLKSUM_QEMU_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "image/image.h"
#include "io/files.h"
#include "qemu/nbd-process.h"

struct error;
struct file;
struct fill;
struct nbd_handle;
struct source_options;

/* What is to be opened: the file, or what the options OPERAND say.  OPERAND is
 * the path of the file.
 */
struct qemu_image {
  const struct source_options *options;
  const char *operand;
  const struct file *file;      /* NULL: options */
  struct image image;
  struct files files;           /* all local ones of the image */

  struct qemu_nbd qemu;
  char *target;                 /* what it was told to open */
  struct nbd_handle *nbd;       /* NULL, or connected */
  uint64_t size;                /* of the disk, when it is connected */
};

/* The first part is set, and the rest empty: qemu-nbd does not run. */
void qemu_image_destroy (struct qemu_image *qi);

/* Start qemu-nbd; CACHE: with the page cache.  There must be no other threads.
 * 0 or -1.
 */
int qemu_image_start (struct qemu_image *qi, bool cache, struct error *error);

/* Connect to it when it is started, and with NBD, which becomes part of QI in
 * any case: qemu has opened the image, and no other file than it may.  0 or -1.
 */
int qemu_image_connect (struct qemu_image *qi, struct nbd_handle *nbd,
                        struct error *error);

/* Start it and connect to it, to read all of the image.  0 or -1. */
int qemu_image_serve (struct qemu_image *qi, struct error *error);

/* Read through the connection what is missing of the first SIZE bytes of the
 * disk.  0 or -1.
 */
int qemu_image_fill (struct qemu_image *qi, uint64_t size, struct fill *fill);

/* After an error of the connection, which is closed: if qemu-nbd said why,
 * that becomes the reason in ERROR.
 */
void qemu_image_refine_error (struct qemu_image *qi, struct error *error);

/* Close the connection, if it is open, and end qemu-nbd, if it runs. */
void qemu_image_stop (struct qemu_image *qi);

#endif /* BLKSUM_QEMU_IMAGE_H */
