/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read a mapfile of "blkhash compare --output=mapfile" as a list of changed
 * ranges: "+" is what differs, and "?" is the rest.
 *
 * In a mapfile of GNU ddrescue "+" means copied, so the first line must say
 * that blkhash has created the mapfile; ddrescue and other programs write
 * another one.  All that follows must be as blkhash prints it.  The ranges must
 * cover the image without gaps; otherwise lines are missing, or the mapfile is
 * that of another disk.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/mapfile.h"
#include "changes/mapfile.h"
#include "util/error.h"
#include "util/ranges.h"

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
