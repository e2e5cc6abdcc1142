/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A qemu-nbd process that serves one image over one connection.
 */

#ifndef BLKSUM_QEMU_NBD_H
#define BLKSUM_QEMU_NBD_H

#include <stdbool.h>
#include <sys/types.h>

struct error;

/* The path with which qemu-nbd opens an image whose descriptor it inherited, if
 * /proc is mounted.
 */
#define QEMU_NBD_IMAGE_PATH "/proc/self/fd/4"

struct qemu_nbd {
  pid_t pid;
  int sock;                     /* the connection; -1 when the caller took it */
  int messages;                 /* read end of the pipe to which qemu-nbd prints
                                 * errors */
};

/* Run qemu-nbd with the arguments ARGV, the first of which is its name.  It
 * inherits a listening socket, to which QEMU->sock is connected, and IMAGE_FD
 * as descriptor 4, unless IMAGE_FD is -1.  If it inherits IMAGE_FD, it needs no
 * other file, so the number of its descriptors is limited, as open_files_visit
 * requires.
 *
 * If this process ends, qemu-nbd ends too.  On Linux it already ends when the
 * thread that called this function ends.  No socket is left, because its name
 * is removed before qemu-nbd runs.  Thread-safe.  Returns 0, or -1 with the
 * reason in ERROR.
 */
int qemu_nbd_start (struct qemu_nbd *qemu, char *const argv[], int image_fd,
                    struct error *error);

/* Replace ERROR by the reason that qemu-nbd printed before it failed, if any.
 * Waits until qemu-nbd ends, for some seconds at most.  TARGET is the argument
 * of qemu-nbd that names the image: NAME replaces it in the reason, and also
 * replaces QEMU_NBD_IMAGE_PATH.
 */
void qemu_nbd_refine_error (struct qemu_nbd *qemu, const char *target,
                            const char *name, struct error *error);

/* Check that qemu-nbd, which inherited an image, has opened no regular file
 * other than the one with DEV and INO, and no block device other than RDEV.
 * Returns 0; or -1 with the reason if it has, or if this cannot be determined.
 */
int qemu_nbd_check_files (const struct qemu_nbd *qemu, dev_t dev, ino_t ino,
                          dev_t rdev, struct error *error);

/* Check that qemu-nbd has not ended.  Returns 0 or -1. */
int qemu_nbd_check_running (const struct qemu_nbd *qemu, struct error *error);

/* Close the connection, unless the caller took it, and end qemu-nbd. */
void qemu_nbd_stop (struct qemu_nbd *qemu);

#endif /* BLKSUM_QEMU_NBD_H */
