/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: the tables of a vdi and of a vpc.
 */

#include <config.h>

#include "format/formats.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct files files;
  struct imagefile file = imagefile_of (fuzz_open (&files, data, size));
  struct error vdi = { "" }, vpc = { "" }, warning = { "" };
  uint64_t disk;

  if ((vdi_check (&file, &disk, &vdi) == -1) != error_is_set (&vdi) ||
      (vpc_check (&file, &disk, &warning, &vpc) == -1) != error_is_set (&vpc))
    abort ();
  files_close (&files);
  return 0;
}
