/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image in a format that qemu has to read for us.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "file.h"
#include "image.h"
#include "libnbd-load.h"
#include "nbd-extents.h"
#include "nbd-read.h"
#include "options.h"
#include "output.h"
#include "qemu-nbd.h"
#include "qemuopts.h"
#include "source.h"

/* What qemu-nbd is to open. */
struct target {
  char *image;                  /* an option string, or a json: file name */
  int fd;                       /* to pass on, or -1 */
  const char *name;             /* for messages */
};

static int
choose_target (const struct options *options, const struct file *file,
               const char *operand, const struct image *image,
               struct target *target, struct error *error)
{
  *target = (struct target) { .fd = -1, .name = operand };
  if (!file) {
    target->image = options->force_share ? qemuopts_force_share (operand)
      : strdup (operand);
  }
  else {
    /* The very file that was probed, even if its name was moved meanwhile. */
    if (image->probed)
      target->fd = file->fd;
    target->image = image_qemu_opts (image,
                                     image->probed ? QEMU_NBD_IMAGE_PATH
                                                   : operand,
                                     file_is_block_device (file),
                                     options->force_share);
  }
  if (!target->image)
    return error_errno (error, ENOMEM, "cannot start qemu-nbd");
  return 0;
}

/* Start qemu-nbd and connect to it. */
static int
start (const struct options *options, const struct target *target,
       const char *cache, struct qemu_nbd *qemu, struct nbd_handle **nbd,
       struct error *error)
{
  const char **argv = calloc (8 + 2 * options->nr_objects, sizeof *argv);
  size_t i, n = 0;
  int r, sock;

  if (!argv)
    return error_errno (error, errno, "cannot start qemu-nbd");
  argv[n++] = "qemu-nbd";
  argv[n++] = "--read-only";
  argv[n++] = cache;
  for (i = 0; i < options->nr_objects; i++) {
    argv[n++] = "--object";
    argv[n++] = options->objects[i];
  }
  if (strncmp (target->image, "json:", 5) != 0)
    argv[n++] = "--image-opts";
  argv[n++] = target->image;
  r = qemu_nbd_start (qemu, (char *const *) argv, target->fd, error);
  free (argv);
  if (r == -1)
    return -1;

  *nbd = nbd_handle_create (options->extents, error);
  if (*nbd) {
    sock = qemu->sock;
    qemu->sock = -1;            /* libnbd closes it in any case */
    if (nbd_connect_socket (*nbd, sock) == 0)
      return 0;
    error_set (error, "cannot connect to qemu-nbd: %s", nbd_error_text ());
    nbd_close (*nbd);
    qemu_nbd_explain (qemu, target->name, error);
  }
  qemu_nbd_stop (qemu);
  return -1;
}

/* Direct I/O leaves the page cache as it is, but not every file system has
 * it.
 */
static int
start_with_cache (const struct options *options, const struct target *target,
                  struct qemu_nbd *qemu, struct nbd_handle **nbd,
                  struct error *error)
{
  struct error first = { "" };

  if (!options->cache &&
      start (options, target, "--cache=none", qemu, nbd, &first) == 0)
    return 0;
  return start (options, target, "--cache=writeback", qemu, nbd, error);
}

/* The image was inspected before qemu opened it, and whoever writes it could
 * have made it name another file in between.
 */
static int
check_opened (const struct qemu_nbd *qemu, const struct file *file,
              const struct image *image, struct error *error)
{
  if (!image->probed)
    return 0;
  return qemu_nbd_check_files (qemu, file->st.st_dev, file->st.st_ino,
                               file->st.st_rdev, error);
}

static int
read_and_hash (const struct options *options, struct nbd_handle *nbd,
               struct sum *sum, struct error *error)
{
  int64_t size = nbd_get_size (nbd);

  if (size < 0) {
    nbd_close (nbd);
    return error_set (error, "cannot find the size");
  }
  return nbd_read_and_hash (options, &nbd, 1, size, sum, error);
}

int
source_qemu_hash (const struct options *options, const struct file *file,
                  const char *operand, const struct image *image,
                  struct sum *sum, struct error *error)
{
  struct target target;
  struct qemu_nbd qemu;
  struct nbd_handle *nbd;
  int r;

  snprintf (sum->format, sizeof sum->format, "%s", image->format);
  r = choose_target (options, file, operand, image, &target, error);
  if (r == 0)
    r = start_with_cache (options, &target, &qemu, &nbd, error);
  free (target.image);
  if (r == -1)
    return -1;

  if (check_opened (&qemu, file, image, error) == -1) {
    nbd_close (nbd);
    r = -1;
  }
  else {
    r = read_and_hash (options, nbd, sum, error);
    if (r == -1)
      qemu_nbd_explain (&qemu, operand, error);
  }
  qemu_nbd_stop (&qemu);
  if (r == 0 && file)
    r = file_check_unchanged (file, options->force_share, error);
  if (r == 0)
    r = image_check_unchanged (image, options->force_share, error);
  return r;
}
