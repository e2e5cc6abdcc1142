/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: all functions by which blksum reads the content of a file
 * without -f; each parser is run if the content looks like its format.
 */

#include <config.h>

#include "format/probe.h"
#include "fuzz.h"
#include "image/image.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct files files;
  struct file *file = fuzz_open (&files, data, size);
  struct error error = { "" };
  struct image_info info;
  const char *container = probe_container (data, size);
  int r = image_inspect (file, NULL, &files, &info, &error);

  if ((r == -1) != error_is_set (&error) || (container && !*container))
    abort ();
  if (r == 0)
    image_info_destroy (&info);
  files_close (&files);
  return 0;
}
