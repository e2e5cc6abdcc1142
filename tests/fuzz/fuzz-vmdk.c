/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: the vmdk header, its descriptor and its grains.
 */

#include <config.h>

#include "format/vmdk.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct files files;
  struct imagefile file = imagefile_of (fuzz_open (&files, data, size));
  struct error error = { "" };

  vmdk_check_alone (&file, &error);
  error.text[0] = '\0';
  vmdk_check (&file, &error);
  files_close (&files);
  return 0;
}
