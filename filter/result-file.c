/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file has a line for each export.  Each change replaces the whole
 * file (see output-file.c).  report.c and verify/publish.c let only one thread
 * at a time write it.
 *
 * Clients choose the names of exports, and so also the number and the length of
 * the lines.  So the file is limited, and with it the time that a change takes.
 * Beyond the limit there is no sum at all, only a line with which blksum
 * --check fails: a part of the lines could be taken for all of them.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output-file.h"
#include "result-file.h"
#include "result-lines.h"

#define TOO_LONG "# unknown *: the lines of all exports exceed 1 MiB\n"

static int
is_result (int fd, char *why)
{
  (void) why;
  return result_lines_are_ours (fd);
}

static struct output_file file = {
  .is_ours = is_result, .what = "a result of this command"
};

int
result_file_open (const char *param, const char *path, bool create)
{
  file.param = param;
  return path ? output_file_open (&file, path, create) : 0;
}

int
result_file_check (void)
{
  return output_file_check (&file);
}

int
result_file_start (void)
{
  return output_file_empty (&file);
}

void
result_file_stop (void)
{
  output_file_stop (&file);
}

void
result_file_write (const char *lines)
{
  char *text = NULL;

  if (lines && strlen (lines) > RESULT_MAX)
    lines = TOO_LONG;
  if (lines && asprintf (&text, "%s%s", *lines ? result_form.header : "",
                         lines) == -1)
    text = NULL;
  output_file_write (&file, text);
  free (text);
}
