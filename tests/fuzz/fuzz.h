/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shared by fuzz targets of image parsers: the input as a file.
 *
 * An input is an image, or the pieces of one, to keep images small whose tables
 * are MiBs apart: FUZZ_PIECES, the size of the image as a number of 32 bits,
 * and pieces, each with its offset in 32 bits, its length in 16, and its bytes.
 * Numbers are little-endian.  The rest of the image is zero.
 */

#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/imagefile.h"
#include "fuzz-main.h"
#include "io/file.h"

#define FUZZ_PIECES "PIECES\r\n"
#define FUZZ_MAX_SIZE (16u << 20) /* bytes of an image */

static inline void
fuzz_write (int fd, const uint8_t *data, size_t size, off_t offset)
{
  if (pwrite (fd, data, size, offset) != (ssize_t) size) {
    perror ("memfd");
    exit (1);
  }
}

static inline void
fuzz_put_together (int fd, const uint8_t *data, size_t size)
{
  const uint32_t all = size < 4 ? 0 : le32_at (data) % (FUZZ_MAX_SIZE + 1);
  size_t at = 4, len;

  if (ftruncate (fd, all) == -1) {
    perror ("memfd");
    exit (1);
  }
  for (; size > at + 6; at += 6 + len) {
    const uint32_t offset = le32_at (data + at);

    len = data[at + 4] | data[at + 5] << 8;
    if (len > size - at - 6)
      len = size - at - 6;
    if (offset < all)
      fuzz_write (fd, data + at + 6, len < all - offset ? len : all - offset,
                  offset);
  }
}

/* Add the input to FILES as the only file. */
static inline struct file *
fuzz_open (struct files *files, const uint8_t *data, size_t size)
{
  struct error error = { "" };
  const size_t magic = strlen (FUZZ_PIECES);
  int fd = memfd_create ("fuzz", MFD_CLOEXEC);
  struct file *file;

  /* With FORCE_SHARE files_adopt does not wait until the file is old enough. */
  *files = (struct files) { .cache = true, .force_share = true };
  if (fd == -1) {
    perror ("memfd");
    exit (1);
  }
  if (size >= magic && memcmp (data, FUZZ_PIECES, magic) == 0)
    fuzz_put_together (fd, data + magic, size - magic);
  else
    fuzz_write (fd, data, size, 0);
  file = files_adopt (files, fd, "fuzz", &error);
  if (!file) {
    fprintf (stderr, "%s\n", error.text);
    exit (1);
  }
  return file;
}

#endif /* FUZZ_H */
