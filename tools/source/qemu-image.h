/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image that qemu-nbd has opened for us.  How it is read is not known here.
 */

#ifndef BLKSUM_QEMU_IMAGE_H
#define BLKSUM_QEMU_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "qemu/nbd-process.h"

struct error;
struct file;
struct files;
struct image;
struct nbd_handle;
struct options;

/* What is to be opened: FILE, or what the options OPERAND say if FILE is NULL.
 * OPERAND is the path of FILE.
 */
struct qemu_image {
  const struct options *options;
  const struct file *file;
  const char *operand;
  const struct image *image;
  struct files *files;          /* all local ones of the image */

  struct qemu_nbd qemu;
  char *target;                 /* what it was told to open */
  struct nbd_handle *nbd;       /* NULL, or connected */
  uint64_t size;                /* of the disk, when it is connected */
};

/* Start qemu-nbd; CACHE: with the page cache.  There must be no other threads.
 * 0 or -1.
 */
int qemu_image_start (struct qemu_image *qi, bool cache, struct error *error);

/* Connect to it when it is started, and with NBD, which becomes part of QI in
 * any case: qemu has opened the image, and no other file than it may.  0 or -1.
 */
int qemu_image_connect (struct qemu_image *qi, struct nbd_handle *nbd,
                        struct error *error);

/* After an error of the connection, which is closed: if qemu-nbd said why,
 * that becomes the reason in ERROR.
 */
void qemu_image_explain (struct qemu_image *qi, struct error *error);

/* Close the connection, if it is open, and end qemu-nbd. */
void qemu_image_stop (struct qemu_image *qi);

#endif /* BLKSUM_QEMU_IMAGE_H */
