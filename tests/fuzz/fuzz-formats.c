/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: the tables of the formats that are read by qemu, other than
 * vmdk: vdi, vpc, and those of minor-formats.c.
 */

#include <config.h>

#include "format/minor-formats.h"
#include "format/vdi.h"
#include "format/vpc.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const char *const formats[] = {
    "bochs", "cloop", "dmg", "luks", "parallels", "qcow", "qed", "vdi", "vpc"
  };
  struct files files;
  struct imagefile file = imagefile_of (fuzz_open (&files, data, size));

  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    struct error error = { "" };
    struct error warning = { "" };
    uint64_t disk;
    int r = strcmp (formats[i], "vdi") == 0 ? vdi_check (&file, &disk, &error)
      : strcmp (formats[i], "vpc") == 0
      ? vpc_check (&file, &disk, &warning, &error)
      : minor_formats_check (&file, formats[i], &disk, &error);

    if ((r == -1) != error_is_set (&error))
      abort ();
  }
  files_close (&files);
  return 0;
}
