/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: the qcow2 header, the traversal of its tables, and their map.
 */

#include <config.h>

#include <string.h>

#include "format/qcow2-check.h"
#include "format/qcow2.h"
#include "fuzz.h"

#define MAX_RUNS 10000

/* If the tables are complete, all runs are inside of the disk and the file. */
static void
walk_map (const struct imagefile *file, const struct qcow2 *qcow2,
          struct error *error)
{
  struct pages pages;
  struct run run;
  uint64_t offset = 0;

  if (pages_init (&pages, file, error) == -1)
    return;
  for (int i = 0; i < MAX_RUNS && offset < qcow2->size; i++) {
    if (qcow2_find_run (&pages, qcow2, offset, &run, error) == -1 ||
        run.len == 0 || run.len > qcow2->size - offset ||
        (run.kind == RUN_DATA &&
         !imagefile_holds (file, run.host, run.len)))
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
  struct qcow2_count count;
  struct qcow2 qcow2;

  if (qcow2_read_header (&file, &qcow2, &error) == 0) {
    if (strlen (qcow2.backing) >= sizeof qcow2.backing ||
        strlen (qcow2.data_file) >= sizeof qcow2.data_file)
      abort ();
    if (qcow2_check (&file, &file, &qcow2, &count, &error) == 0 &&
        qcow2_map_fits (&qcow2))
      walk_map (&file, &qcow2, &error);
  }
  files_close (&files);
  return 0;
}
