/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image that qemu-nbd opens and exports to this process.
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
struct nbd_handle;
struct scan;
struct source_options;

/* The image to open: FILE, whose path is OPERAND. */
struct qemu_image {
  const struct source_options *options;
  const char *operand;
  const struct file *file;
  struct image_info info;
  struct files files;           /* all local files of the image */

  struct qemu_nbd qemu;
  char *target;                 /* argument of qemu-nbd that names the image;
                                 * NULL if qemu-nbd was not started */
  struct nbd_handle *nbd;       /* NULL, or connected */
  uint64_t size;                /* size of the disk; set when connected */
};

/* Stop qemu-nbd, if it runs, and free all that QI owns. */
void qemu_image_destroy (struct qemu_image *qi);

/* Start qemu-nbd, which uses the page cache if CACHE is set.  It ends at the
 * latest when this process ends, on Linux when the calling thread ends.
 * Returns 0 or -1.
 */
int qemu_image_start (struct qemu_image *qi, bool cache, struct error *error);

/* Connect NBD to qemu-nbd, which was started.  QI takes ownership of NBD, also
 * on error.  If the format was probed, checks that qemu-nbd has opened no file
 * but the image.  Returns 0 or -1.
 */
int qemu_image_connect (struct qemu_image *qi, struct nbd_handle *nbd,
                        struct error *error);

/* Start qemu-nbd and connect to it.  qemu-nbd uses direct I/O if it can, unless
 * options->cache is set.  Returns 0 or -1.
 */
int qemu_image_serve (struct qemu_image *qi, struct error *error);

/* Read the missing ranges of SCAN in the first SIZE bytes of the disk.  Returns
 * 0 or -1.
 */
int qemu_image_scan (struct qemu_image *qi, uint64_t size, struct scan *scan);

/* Close the connection after an error on it.  If qemu-nbd printed the reason,
 * it is stored in ERROR.
 */
void qemu_image_refine_error (struct qemu_image *qi, struct error *error);

/* Close the connection, if it is open, and end qemu-nbd, if it runs. */
void qemu_image_stop (struct qemu_image *qi);

#endif /* BLKSUM_QEMU_IMAGE_H */
