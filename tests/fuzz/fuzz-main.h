/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shared by all fuzz targets: with FUZZ_STANDALONE, a main function that runs
 * the target for each file on the command line, so that programs of any
 * compiler can replay a corpus.
 */

#ifndef FUZZ_MAIN_H
#define FUZZ_MAIN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

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

#endif /* FUZZ_MAIN_H */
