/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How would blksum read this image?  A program for tests/test-image.sh:
 *
 *   test-image [-U] [-f FORMAT] FILE      decide, print the format and what
 *                                         qemu would be told
 *   test-image [-U] --image-opts OPTIONS  the same for an option string
 *
 * The exit status is 0, or 2 with the reason on stderr.
 */

#include <config.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image.h"

static int
fail (const char *name, const struct error *error)
{
  fprintf (stderr, "blksum: %s: %s\n", name, error->text);
  return 2;
}

static int
inspect_file (const char *path, const char *format, bool force_share)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  struct error error = { "" };
  struct image image;
  struct stat st;
  off_t size;
  char *opts;

  if (fd == -1 || fstat (fd, &st) == -1 ||
      (size = lseek (fd, 0, SEEK_END)) == -1) {
    perror (path);
    return 2;
  }
  if (image_inspect (fd, path, size, format, force_share, &image,
                     &error) == -1)
    return fail (path, &error);
  opts = image_qemu_opts (&image, path, S_ISBLK (st.st_mode), force_share);
  printf ("%s\n%s\n", image.format, opts);
  free (opts);
  close (fd);
  return 0;
}

static int
inspect_opts (const char *opts, bool force_share)
{
  struct error error = { "" };
  struct image image;

  if (image_inspect_opts (opts, force_share, &image, &error) == -1)
    return fail (opts, &error);
  printf ("%s\n%s\n", image.format, opts);
  return 0;
}

int
main (int argc, char *argv[])
{
  const char *format = NULL;
  bool force_share = false;
  int i = 1;

  if (i < argc && strcmp (argv[i], "-U") == 0) {
    force_share = true;
    i++;
  }
  if (i + 2 == argc && strcmp (argv[i], "--image-opts") == 0)
    return inspect_opts (argv[i + 1], force_share);
  if (i + 2 < argc && strcmp (argv[i], "-f") == 0) {
    format = argv[i + 1];
    i += 2;
  }
  if (i + 1 != argc) {
    fprintf (stderr, "usage: %s [-U] [-f FORMAT] FILE\n", argv[0]);
    return 2;
  }
  return inspect_file (argv[i], format, force_share);
}
