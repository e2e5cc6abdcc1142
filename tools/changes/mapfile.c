/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read a mapfile of GNU ddrescue as a list of changed ranges, in the form of a
 * domain mapfile: the status "+" means changed, and "?" means unchanged.
 *
 * In the mapfile of a copy by ddrescue, "+" means copied.  The two kinds cannot
 * be told apart, so a mapfile is read only if the user requests it with
 * --changed-format=ddrescue.  Any other status of a range is an error, because
 * no list of changes has it.
 *
 * The ranges of a mapfile cover the whole disk, without gaps.  If they do not
 * cover the image, lines are missing, or the mapfile is that of another disk.
 * Memory is bounded, whatever the size of the input.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "changes/mapfile.h"
#include "util/error.h"
#include "util/ranges.h"

#define MAX_LINE 128            /* bytes, with the NUL, without a comment */
#define BLANKS " \t"

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
line_error (struct mapfile *map, const char *what)
{
  return error_about (map->error, map->name, "line %" PRIu64 " %s", map->line,
                      what);
}

/* Read the next line that has more than blanks and a comment.  A comment begins
 * with "#" at the start of the line, or after a blank, and is dropped.  Returns
 * 1; 0 at the end of the file; or -1.
 */
static int
read_line (struct mapfile *map, char text[MAX_LINE])
{
  bool in_comment;
  size_t len;
  int c;

  do {
    len = 0;
    in_comment = false;
    map->line++;
    while ((c = getc_unlocked (map->in)) != EOF && c != '\n') {
      in_comment |= c == '#' && (len == 0 || strchr (BLANKS, text[len - 1]));
      if (in_comment)
        continue;
      if (c == '\0' || len == MAX_LINE - 1)
        return line_error (map, c == '\0' ? "has a NUL character"
                                          : "is too long");
      text[len++] = c;
    }
    text[len] = '\0';
  } while (c != EOF && text[strspn (text, BLANKS)] == '\0');
  if (ferror (map->in))
    return error_about (map->error, map->name, "cannot read: %s",
                        strerror (errno));
  return text[strspn (text, BLANKS)] != '\0';
}

/* Split TEXT into exactly 3 words.  Returns -1 if there are more or fewer. */
static int
split (char *text, char *words[3])
{
  char *rest = text;

  for (int i = 0; i < 3; i++)
    if (!(words[i] = strtok_r (i == 0 ? text : NULL, BLANKS, &rest)))
      return -1;
  return strtok_r (NULL, BLANKS, &rest) ? -1 : 0;
}

/* Parse a decimal, hexadecimal (0x) or octal (0) number.  Returns -1 if WORD is
 * anything else.
 */
static int
parse_number (const char *word, uint64_t *number)
{
  unsigned long long value;
  char *rest;

  errno = 0;
  value = strtoull (word, &rest, 0);
  if (!isdigit ((unsigned char) *word) || *rest || errno != 0)
    return -1;
  *number = value;
  return 0;
}

/* The status line has the position, the status and the pass of a run of
 * ddrescue.  Only their syntax is checked.
 */
static int
read_status (struct mapfile *map)
{
  char text[MAX_LINE], *words[3];
  uint64_t number;
  int r = read_line (map, text);

  if (r == 0)
    return error_about (map->error, map->name, "it has no status line: it is "
                        "empty or truncated, or no mapfile");
  if (r == 1 && (split (text, words) == -1 ||
                 parse_number (words[0], &number) == -1 ||
                 !strchr ("?*/-FG+", *words[1]) || words[1][1] ||
                 parse_number (words[2], &number) == -1))
    return line_error (map, "is not the status line of a mapfile");
  return r == 1 ? 0 : -1;
}

static int
add_line (struct mapfile *map, char *text)
{
  char *words[3];
  uint64_t start, len;
  int err = 0;

  if (split (text, words) == -1 || parse_number (words[0], &start) == -1 ||
      parse_number (words[1], &len) == -1)
    return line_error (map, "is not a range of a mapfile");
  if (strcmp (words[2], "+") != 0 && strcmp (words[2], "?") != 0)
    return line_error (map, "has a status that is neither '+' (changed) nor "
                       "'?' (unchanged)");
  if (start != map->end)
    return error_about (map->error, map->name, "line %" PRIu64 " begins at %"
                        PRIu64 " instead of %" PRIu64 ": there must be no gap "
                        "or overlap", map->line, start, map->end);
  if (len == 0)
    return line_error (map, "has length 0");
  if (len > map->size - start)
    return line_error (map, "ends after the image");
  map->end += len;
  if (*words[2] == '+')
    err = ranges_add (map->ranges, start, len);
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
  char text[MAX_LINE];
  int r = read_status (&map);

  while (r == 0 && (r = read_line (&map, text)) == 1)
    r = add_line (&map, text);
  if (r == 0 && map.end < size)
    r = error_about (error, name, "it ends at %" PRIu64 " of the %" PRIu64
                     " bytes of the image: it is truncated, or of another disk",
                     map.end, size);
  return r;
}
