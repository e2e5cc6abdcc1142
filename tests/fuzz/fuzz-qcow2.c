/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: the qcow2 header and the walk of its tables.
 */

#include <config.h>

#include <string.h>

#include "fuzz.h"
#include "qcow2.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct imagefile file = fuzz_open (data, size);
  struct error error = { "" };
  struct qcow2 qcow2;

  if (qcow2_read_header (&file, &qcow2, &error) == 0) {
    if (strlen (qcow2.backing) >= sizeof qcow2.backing ||
        strlen (qcow2.data_file) >= sizeof qcow2.data_file)
      abort ();
    qcow2_check (&file, &file, &qcow2, &error);
  }
  fuzz_close (&file);
  return 0;
}
