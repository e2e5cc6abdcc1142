/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kinds of source, each with the function that opens it; and the image that
 * a qemu-nbd serves, which two of them use.
 */

#ifndef BLKSUM_SOURCE_PRIVATE_H
#define BLKSUM_SOURCE_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "image/image.h"
#include "io/file.h"
#include "qemu/qemu.h"

struct error;
struct nbd_handle;
struct scan;
struct source;
struct source_options;

/* A raw image in a regular file or on a block device.  It starts at offset
 * START of the one file in FILES.  The source owns FILES if this succeeds.
 * Returns 0 or -1.
 */
int raw_open (const struct source_options *options, const struct files *files,
              uint64_t start, struct source **source, struct error *error);

/* A source that can only be read sequentially: a pipe, a socket, a terminal.
 * FD is read up to its end, or up to source->size if the caller sets that
 * afterwards.  If this succeeds, *SOURCE owns FD, and closes it, unless it is
 * standard input.  Returns 0 or -1.
 */
int pipe_open (const struct source_options *options, int fd,
               struct source **source, struct error *error);

/* Connect to the NBD export at URI, which must exist as long as the source.
 * Returns 0 or -1.
 */
int nbd_uri_open (const struct source_options *options, const char *uri,
                  struct source **source, struct error *error);

/* ---- Images that are not raw ---- */

/* An image that qemu-nbd opens and exports to this process: FILE, whose path is
 * OPERAND.
 */
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

/* An image that qemu reads.  Start the qemu-nbd of QI, which was not started
 * before, and connect to it.  If this succeeds, the source owns all that QI
 * owned.  Returns 0 or -1.
 */
int qemu_open (const struct qemu_image *qi, struct source **source,
               struct error *error);

enum direct_opened {
  DIRECT_ERROR = -1,
  DIRECT_QEMU,                  /* qemu must read the whole image */
  DIRECT_OPENED,
};

/* An image whose tables are parsed here, and whose data is read from its files.
 * qemu reads only the data that cannot be read directly.  Open QI, and start
 * its qemu-nbd, which was not started before.  The source copies QI.  If it is
 * opened, the source owns the members of QI; otherwise the caller still owns
 * them, and qemu-nbd was not started.
 */
enum direct_opened direct_open (const struct qemu_image *qi,
                                struct source **source, struct error *error);

#endif /* BLKSUM_SOURCE_PRIVATE_H */
