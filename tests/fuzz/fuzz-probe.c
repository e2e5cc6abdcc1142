/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: all that blksum does with the content of a file whose format
 * the user did not give, which runs each parser on what looks like its format.
 */

#include <config.h>

#include "fuzz.h"
#include "image/image.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct imagefile file = fuzz_open (data, size);
  struct error error = { "" };
  struct image image;
  int r = image_inspect (file.fd, "fuzz", size, NULL, false, &image, &error);

  if ((r == -1) != error_is_set (&error))
    abort ();
  fuzz_close (&file);
  return 0;
}
