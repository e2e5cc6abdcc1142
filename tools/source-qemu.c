/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image in a format that qemu has to read for us.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libnbd.h>

#include "error.h"
#include "image.h"
#include "nbd-extents.h"
#include "nbd-read.h"
#include "options.h"
#include "output.h"
#include "qemu-nbd.h"
#include "source.h"

/* What qemu-nbd is to open. */
struct target {
  char *image;                  /* an option string, or a json: file name */
  int fd;                       /* to pass on, or -1 */
  const char *name;             /* for messages */
};

static int
choose_target (const struct options *options, int fd, const char *operand,
               const struct image *image, struct target *target,
               struct error *error)
{
  struct stat st;
  bool block;

  *target = (struct target) { .fd = -1, .name = operand };
  if (options->image_opts) {
    if (asprintf (&target->image, "%s%s", operand,
                  options->force_share ? ",force-share=on" : "") == -1)
      target->image = NULL;
  }
  else {
    if (fstat (fd, &st) == -1)
      return error_errno (error, errno, "cannot read");
    block = S_ISBLK (st.st_mode);
    /* The very file that was probed, even if its name was moved meanwhile. */
    if (image->probed)
      target->fd = fd;
    target->image = image_qemu_opts (image,
                                     image->probed ? QEMU_NBD_IMAGE_PATH
                                                   : operand,
                                     block, options->force_share);
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

int
source_qemu_hash (const struct options *options, int fd,
                  const char *operand, const struct image *image,
                  struct sum *sum, struct error *error)
{
  struct stat before, after;
  struct target target;
  struct qemu_nbd qemu;
  struct nbd_handle *nbd;
  int64_t size;
  int r;

  snprintf (sum->format, sizeof sum->format, "%s", image->format);
  if (fd != -1 && fstat (fd, &before) == -1)
    return error_errno (error, errno, "cannot read");
  r = choose_target (options, fd, operand, image, &target, error);
  if (r == 0)
    r = start_with_cache (options, &target, &qemu, &nbd, error);
  free (target.image);
  if (r == -1)
    return -1;

  size = nbd_get_size (nbd);
  if (size == -1) {
    r = error_set (error, "cannot find the size: %s", nbd_error_text ());
    nbd_close (nbd);
  }
  else
    r = nbd_read_and_hash (options, &nbd, 1, size, sum, error);
  qemu_nbd_stop (&qemu);
  if (r == -1)
    return -1;

  if (fd != -1 && fstat (fd, &after) == -1)
    return error_errno (error, errno, "cannot read");
  if (fd != -1 && !options->force_share && S_ISREG (before.st_mode) &&
      source_file_changed (&before, &after))
    return error_set (error, "the file changed while it was read");
  return 0;
}
