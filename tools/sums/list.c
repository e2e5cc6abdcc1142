/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read a list of checksums line by line.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/sums.h"
#include "sums/list.h"
#include "util/error.h"

#define MANIFEST "blkhash-manifest " /* see blkhash-manifest(5) */

/* The maximum length of a line in bytes: enough for a name of PATH_MAX bytes
 * that are all escaped.
 */
#define MAX_LINE (64 * 1024)

struct sums_list {
  FILE *in;
  uint64_t number;              /* of the last line that was read, from 1 */
  char text[MAX_LINE + 1];      /* the line, terminated by a NUL */
};

struct sums_list *
sums_list_open (const char *path, struct error *error)
{
  struct sums_list *list = malloc (sizeof *list);

  if (!list) {
    error_errno (error, errno, "cannot open");
    return NULL;
  }
  list->number = 0;
  list->in = strcmp (path, "-") == 0 ? stdin : fopen (path, "re");
  if (!list->in) {
    error_errno (error, errno, "cannot open");
    free (list);
    return NULL;
  }
  return list;
}

/* How a line ended. */
enum line_end { END_NEWLINE, END_FILE, END_NUL };

/* Read a line without the character that ends it.  If it is too long, *LEN is
 * MAX_LINE + 1, and the text is truncated.
 */
static enum line_end
read_line (struct sums_list *list, size_t *len)
{
  int c;

  *len = 0;
  while ((c = getc_unlocked (list->in)) != EOF && c != '\n' && c != '\0') {
    if (*len < MAX_LINE)
      list->text[*len] = c;
    if (*len <= MAX_LINE)
      ++*len;
  }
  list->text[*len < MAX_LINE ? *len : MAX_LINE] = '\0';
  return c == EOF ? END_FILE : c == '\0' ? END_NUL : END_NEWLINE;
}

/* Returns true if TEXT, the start of the list, has the byte order mark with
 * which Windows writes UTF-16.
 */
static bool
is_utf16 (const char *text)
{
  return strncmp (text, "\xff\xfe", 2) == 0 ||
    strncmp (text, "\xfe\xff", 2) == 0;
}

int
sums_list_next (struct sums_list *list, struct sums_line *line,
                struct error *error)
{
  enum line_end end;
  size_t len;

  errno = 0;
  end = read_line (list, &len);
  if (ferror (list->in))
    return error_errno (error, errno ? errno : EIO, "cannot read");
  if (end == END_FILE && len == 0)
    return 0;
  list->number++;
  if (list->number == 1 && is_utf16 (list->text))
    return error_set (error, "is UTF-16 text, and a list is UTF-8: convert it, "
                      "as with iconv -f UTF-16 -t UTF-8");
  if (list->number == 1 &&
      strncmp (list->text, MANIFEST, strlen (MANIFEST)) == 0)
    return error_set (error, "is a manifest, not a list of sums: --expect "
                      "manifest:FILE checks an image with it");
  if (end == END_NUL)
    return error_set (error, "line %ju has a NUL character: the lines of a "
                      "list end with newlines",
                      (uintmax_t) list->number);
  if (len > MAX_LINE)
    *line = (struct sums_line) {
      .type = SUMS_DAMAGED, .why = "it is longer than 65536 bytes"
    };
  else
    sums_line_parse (list->text, len, line);
  if (end == END_FILE && line->type == SUMS_OTHER)
    *line = (struct sums_line) {
      .type = SUMS_DAMAGED, .why = "the list ends within it"
    };
  return 1;
}

uint64_t
sums_list_line_number (const struct sums_list *list)
{
  return list->number;
}

void
sums_list_close (struct sums_list *list)
{
  if (list->in != stdin)
    fclose (list->in);
  free (list);
}
