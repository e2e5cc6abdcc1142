/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read a list of the changed ranges of an image, in JSON or as a mapfile.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "changes/json-list.h"
#include "changes/list.h"
#include "changes/mapfile.h"
#include "util/error.h"
#include "util/ranges.h"

/* Open the list, which must be a regular file or a pipe: a device may have no
 * end, and a terminal would wait for input.  "-" is standard input.  Returns
 * NULL with the reason on error.
 */
static FILE *
open_list (const char *path, struct error *error)
{
  struct stat st;
  FILE *in = NULL;
  int r = strcmp (path, "-") == 0 ? fstat (0, &st) : stat (path, &st);

  if (r == 0 && !S_ISREG (st.st_mode) && !S_ISFIFO (st.st_mode)) {
    error_about (error, path, "it is not a file or a pipe");
    return NULL;
  }
  if (r == 0)
    in = strcmp (path, "-") == 0 ? stdin : fopen (path, "re");
  if (!in)
    error_about (error, path, "cannot open: %s", strerror (errno));
  return in;
}

int
changes_read (const char *path, uint64_t size, struct ranges *ranges,
              struct error *error)
{
  FILE *in = open_list (path, error);
  int c, r;

  if (!in)
    return -1;
  /* No list in JSON begins with a comment, and every mapfile of ours does. */
  c = getc (in);
  ungetc (c, in);
  r = c == '#' ? mapfile_read (in, path, size, ranges, error)
               : json_list_read (in, path, size, ranges, error);
  if (in != stdin)
    fclose (in);
  if (r == 0)
    ranges_sort (ranges);
  else
    ranges_free (ranges);
  return r;
}
