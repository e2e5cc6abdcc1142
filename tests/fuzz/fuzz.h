/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the fuzz targets of the image parsers share: the input as a file.
 */

#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/imagefile.h"
#include "fuzz-main.h"
#include "io/files.h"

/* The input as the only file of FILES. */
static inline struct file *
fuzz_open (struct files *files, const uint8_t *data, size_t size)
{
  struct error error = { "" };
  int fd = memfd_create ("fuzz", MFD_CLOEXEC);
  struct file *file;

  *files = (struct files) { .cache = true };
  if (fd == -1 || write (fd, data, size) != (ssize_t) size) {
    perror ("memfd");
    exit (1);
  }
  file = files_adopt (files, fd, "fuzz", &error);
  if (!file) {
    fprintf (stderr, "%s\n", error.text);
    exit (1);
  }
  return file;
}

#endif /* FUZZ_H */
