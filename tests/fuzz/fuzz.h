/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the fuzz targets of the image parsers share: the input as a file, and,
 * with FUZZ_STANDALONE defined, a main that runs the target once for each
 * file that is named on the command line, so that any compiler can replay a
 * corpus.
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
#include "io/files.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

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

#ifdef FUZZ_STANDALONE
int
main (int argc, char *argv[])
{
  static uint8_t data[4 << 20];

  for (int i = 1; i < argc; i++) {
    FILE *f = fopen (argv[i], "rb");
    size_t size;

    if (!f) {
      perror (argv[i]);
      return 1;
    }
    size = fread (data, 1, sizeof data, f);
    fclose (f);
    LLVMFuzzerTestOneInput (data, size);
  }
  printf ("%d inputs\n", argc - 1);
  return 0;
}
#endif /* FUZZ_STANDALONE */

#endif /* FUZZ_H */
