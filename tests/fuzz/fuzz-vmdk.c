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
  struct imagefile file = fuzz_open (data, size);
  struct error error = { "" };

  vmdk_check_alone (&file, &error);
  error.text[0] = '\0';
  vmdk_check (&file, &error);
  fuzz_close (&file);
  return 0;
}
