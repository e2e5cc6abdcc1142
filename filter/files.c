/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Check and empty the output files when the server starts.
 */

#include <config.h>

#include "files.h"
#include "manifest.h"
#include "params.h"
#include "result-file.h"
#include "result-lines.h"

#define RESULT_HEADER "# nbdkit-blkhash-filter replaces this file\n"

void
files_stop (void)
{
  result_file_stop ();
  manifest_stop ();
}

/* Call files_stop if R is -1.  Returns R. */
static int
stop_after_error (int r)
{
  if (r == -1)
    files_stop ();
  return r;
}

int
files_check (void)
{
  return stop_after_error (result_file_check () == -1 ? -1 : manifest_check ());
}

static int
open_files (bool create)
{
  result_form = (struct result_form) {
    .header = RESULT_HEADER, .hash = params.hash, .name = params.name
  };
  if (result_file_open ("blkhash-file", params.file, create) == -1 ||
      manifest_open (create) == -1)
    return stop_after_error (-1);
  return files_check ();
}

int
files_open (void)
{
  return open_files (true);
}

int
files_withdraw (void)
{
  if (open_files (false) == -1 || files_start (params.update) == -1)
    return -1;
  files_stop ();
  return 0;
}

int
files_start (bool keep_manifest)
{
  return stop_after_error (result_file_start () == -1 ? -1
                           : manifest_start (keep_manifest));
}
