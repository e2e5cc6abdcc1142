/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A qemu-nbd process that serves one image to one connection of ours.
 */

#ifndef BLKSUM_QEMU_NBD_H
#define BLKSUM_QEMU_NBD_H

#include <stdbool.h>
#include <sys/types.h>

struct error;

/* Where qemu-nbd finds the descriptor of the image that it was given, if there
 * is a /proc.
 */
#define QEMU_NBD_IMAGE_PATH "/proc/self/fd/4"

struct qemu_nbd {
  pid_t pid;
  int sock;                     /* the connection; -1 when somebody took it */
  int messages;                 /* what it writes to stderr */
};

/* Run qemu-nbd with the arguments ARGV, the first of which is its name.  It
 * gets the connection, and IMAGE_FD, if that is not -1, as descriptor 4.  With
 * that it needs no other file, and can open a few only.
 *
 * Whatever happens to this process, qemu-nbd does not survive it and no
 * socket is left: there is no name in the file system by the time it runs.
 * There must be no other threads.  0, or -1 with the reason in ERROR.
 */
int qemu_nbd_start (struct qemu_nbd *qemu, char *const argv[], int image_fd,
                    struct error *error);

/* When it does not serve, or failed: if it said why, that becomes the reason in
 * ERROR, with NAME for TARGET, what it was told to open, and for
 * QEMU_NBD_IMAGE_PATH.
 */
void qemu_nbd_refine_error (struct qemu_nbd *qemu, const char *target,
                            const char *name, struct error *error);

/* If it was given an image: has it opened files other than the one with this
 * device and inode, or block devices other than RDEV?  -1 with the reason if it
 * has, or if that cannot be told.
 */
int qemu_nbd_check_files (const struct qemu_nbd *qemu, dev_t dev, ino_t ino,
                          dev_t rdev, struct error *error);

/* Has it not ended?  0 or -1. */
int qemu_nbd_check_running (const struct qemu_nbd *qemu, struct error *error);

/* End it, if it has not ended with the connection. */
void qemu_nbd_stop (struct qemu_nbd *qemu);

#endif /* BLKSUM_QEMU_NBD_H */
