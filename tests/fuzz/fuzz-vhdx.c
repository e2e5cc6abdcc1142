/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: the tables of a vhdx, and the map of its blocks.
 */

#include <config.h>

#include "format/formats.h"
#include "fuzz.h"

#define MAX_RUNS 10000

/* If the image is complete, all runs are inside of the disk and the file. */
static void
walk_map (const struct imagefile *file, const struct vhdx *vhdx,
          struct error *error)
{
  struct pages pages;
  struct run run;
  uint64_t offset = 0;

  if (pages_init (&pages, file, error) == -1)
    return;
  for (int i = 0; i < MAX_RUNS && offset < vhdx->size; i++) {
    if (vhdx_find_run (&pages, vhdx, offset, &run, error) == -1 ||
        run.len == 0 || run.len > vhdx->size - offset ||
        (run.kind != RUN_DATA && run.kind != RUN_ZEROS) ||
        (run.kind == RUN_DATA && !imagefile_holds (file, run.host, run.len)))
      abort ();
    offset += run.len;
  }
  pages_destroy (&pages);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct files files;
  struct imagefile file = imagefile_of (fuzz_open (&files, data, size));
  struct error error = { "" };
  struct vhdx vhdx;

  if (vhdx_check (&file, &vhdx, &error) == 0)
    walk_map (&file, &vhdx, &error);
  files_close (&files);
  return 0;
}
