/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sum in the name of a dirty bitmap.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "../lib/common/mapfile.h"
#include "job/changes.h"
#include "util/error.h"
#include "util/ranges.h"

/* Read a list of the changed ranges of an image, in JSON or as a mapfile.
 */

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

/* Read a mapfile of "blkhash compare --output=mapfile" as a list of changed
 * ranges: "+" is what differs, and "?" is the rest.
 *
 * In a mapfile of GNU ddrescue "+" means copied, so the first line must say
 * that blkhash has created the mapfile; ddrescue and other programs write
 * another one.  All that follows must be as blkhash prints it.  The ranges must
 * cover the image without gaps; otherwise lines are missing, or the mapfile is
 * that of another disk.
 */

#define SIGNATURE MAPFILE_SIGNATURE ("blkhash")
#define HEADER SIGNATURE MAPFILE_STATUS_BEGIN MAPFILE_STATUS_END ("+")

struct mapfile {
  FILE *in;
  const char *name;
  uint64_t line;                /* number of the line, from 1 */
  uint64_t size;                /* size of the image, bytes */
  uint64_t end;                 /* end of the last range, bytes */
  struct ranges *ranges;
  struct error *error;
};

static int
read_error (struct mapfile *map)
{
  return error_about (map->error, map->name, "cannot read: %s",
                      strerror (errno));
}

static int
read_header (struct mapfile *map)
{
  char header[sizeof HEADER - 1];
  size_t len = fread (header, 1, sizeof header, map->in);

  if (ferror (map->in))
    return read_error (map);
  if (len < strlen (SIGNATURE) ||
      memcmp (header, SIGNATURE, strlen (SIGNATURE)) != 0)
    return error_about (map->error, map->name, "it is not a mapfile that "
                        "'blkhash compare --output=mapfile' has created for "
                        "the whole disk; in one of ddrescue '+' means copied, "
                        "not changed, and the two cannot be told apart");
  if (len < sizeof header || memcmp (header, HEADER, len) != 0)
    return error_about (map->error, map->name, "its header is not complete: "
                        "the comparison failed");
  map->line = 4;
  return 0;
}

static int
line_error (struct mapfile *map, const char *what)
{
  return error_about (map->error, map->name, "line %" PRIu64 " %s", map->line,
                      what);
}

/* Add the range in LINE, which must be the line that blkhash prints for it. */
static int
add_line (struct mapfile *map, const char *line)
{
  char expected[64], *rest, status;
  uint64_t start = strtoull (line, &rest, 16);
  uint64_t len = strtoull (rest, &rest, 16);
  int err;

  status = rest[strspn (rest, " ")];
  snprintf (expected, sizeof expected, MAPFILE_RANGE, start, len, status);
  if (strcmp (line, expected) != 0 ||
      (status != MAPFILE_FINISHED && status != MAPFILE_NOT_TRIED))
    return line_error (map, "is not a range as blkhash prints it");
  if (start != map->end)
    return error_about (map->error, map->name, "line %" PRIu64 " begins at %"
                        PRIu64 " instead of %" PRIu64 ": there must be no gap "
                        "or overlap", map->line, start, map->end);
  if (len == 0 || len > map->size - start)
    return line_error (map, len == 0 ? "has length 0" : "ends after the image");
  map->end += len;
  err = status == MAPFILE_FINISHED ? ranges_add (map->ranges, start, len) : 0;
  return err == 0 ? 0 : error_errno (map->error, err,
                                     "cannot store the changed ranges");
}

int
mapfile_read (FILE *in, const char *name, uint64_t size, struct ranges *ranges,
              struct error *error)
{
  struct mapfile map = {
    .in = in, .name = name, .size = size, .ranges = ranges, .error = error
  };
  char line[64];

  if (read_header (&map) == -1)
    return -1;
  while (fgets (line, sizeof line, in)) {
    map.line++;
    if (add_line (&map, line) == -1)
      return -1;
  }
  if (ferror (in))
    return read_error (&map);
  if (map.end < size)
    return error_about (error, name, "it ends at %" PRIu64 " of the %" PRIu64
                        " bytes of the image: it is truncated, or of another "
                        "disk", map.end, size);
  return 0;
}

#define PREFIX "blk-"
#define MIN_DIGITS 8

/* Returns the number of hexadecimal digits of the sum in NAME, or 0 if there is
 * no sum.  Other text can follow the digits, but a letter must not.
 */
static size_t
count_digits (const char *name)
{
  const char *digits;
  size_t count;

  if (strncmp (name, PREFIX, strlen (PREFIX)) != 0)
    return 0;
  digits = name + strlen (PREFIX);
  count = strspn (digits, "0123456789abcdefABCDEF");
  return count < MIN_DIGITS || isalnum ((unsigned char) digits[count]) ? 0
                                                                       : count;
}

bool
bitmap_name_has_sum (const char *name)
{
  return count_digits (name) > 0;
}

int
bitmap_name_check (const char *name, const char *sum, struct error *error)
{
  size_t count = count_digits (name);

  if (count == 0 ||
      (count <= strlen (sum) &&
       strncasecmp (name + strlen (PREFIX), sum, count) == 0))
    return 0;
  return error_set (error, "the dirty bitmap '%s' records the changes since a "
                    "different sum, not since %s", name, sum);
}
