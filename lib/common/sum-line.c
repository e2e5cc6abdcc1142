/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Format a checksum as a line of text.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"
#include "common/sum-line.h"

char *
sum_line_escape (const char *name)
{
  char *escaped = malloc (2 * strlen (name) + 1), *p = escaped;

  if (!escaped)
    return NULL;
  for (; *name; name++) {
    char c = *name == '\n' ? 'n' : *name == '\r' ? 'r' : *name;

    if (c != *name || c == '\\')
      *p++ = '\\';
    *p++ = c;
  }
  *p = '\0';
  return escaped;
}

char *
sum_line_hex (const unsigned char *md, size_t md_len)
{
  char *hex = malloc (2 * md_len + 1);
  size_t i;

  if (!hex)
    return NULL;
  hex[0] = '\0';
  for (i = 0; i < md_len; i++)
    sprintf (hex + 2 * i, "%02x", md[i]);
  return hex;
}

/* TAG is NULL for a line without one. */
static void
print (FILE *out, const char *tag, const char *hex, const char *name,
       bool escaped)
{
  if (escaped)
    putc ('\\', out);
  if (!tag) {
    fputs (hex, out);
    if (name)
      fprintf (out, "  %s", name);
    return;
  }
  fputs (tag, out);
  if (name)
    fprintf (out, " (%s)", name);
  fprintf (out, " = %s", hex);
}

char *
sum_line (const struct blkhash_opts *opts,
          const unsigned char *md, size_t md_len,
          const char *name, bool tag, bool escape)
{
  char *hex = sum_line_hex (md, md_len);
  char *escaped = escape && name ? sum_line_escape (name) : NULL;
  char text[BLKHASH_MAX_TAG_SIZE];
  char *line = NULL;
  size_t size;
  FILE *out;

  if (hex && (escaped || !escape || !name) &&
      (!tag || blkhash_opts_get_tag (opts, text, sizeof text) == 0)) {
    out = open_memstream (&line, &size);
    if (out) {
      print (out, tag ? text : NULL, hex, escaped ? escaped : name,
             escaped && strcmp (escaped, name) != 0);
      if (fclose (out) == EOF) {
        free (line);
        line = NULL;
      }
    }
  }
  free (hex);
  free (escaped);
  return line;
}
